from pathlib import Path
from typing import Any

import pytest
from tritonclient.grpc import model_config_pb2

from model_build import BuildTarget, model_config

CPU = BuildTarget(release="24.09")
GPU = BuildTarget(release="25.09", compute_capability="8.6")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name: "a"\nmax_batchsize: 8\n',
         '2:1: Message type "inference.ModelConfig" has no field named "max_batchsize". '
         "Did you mean max_batch_size?"),
        ("input [ {\n  dims: [ 2 ]\n", '2:13: Expected "}".'),
        ("instance_group [ { kind: GPU } ]",
         '1:26: Enum type "inference.ModelInstanceGroup.Kind" has no value named GPU. '
         "Did you mean KIND_GPU?"),
        ('name: "a', "1:7: String missing ending quote: '\"a'"),
    ],
)  # fmt: skip
def test_parse_error_has_line_and_column(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "config.pbtxt"
    path.write_text(text)
    with pytest.raises(model_config.NotParsed) as error:
        model_config.read(path)
    assert str(error.value) == message


def _groups(config: Any) -> list[tuple[int, str, list[int]]]:
    name = model_config_pb2.ModelInstanceGroup.Kind.Name
    return [(group.count, name(group.kind), list(group.gpus)) for group in config.instance_group]


@pytest.fixture
def gpu_config(tmp_path: Path) -> Any:
    path = tmp_path / "config.pbtxt"
    path.write_text(
        'name: "a" instance_group [ '
        "{ count: 2 kind: KIND_GPU gpus: [ 0, 1 ] }, { kind: KIND_CPU } ]"
    )
    return model_config.read(path)


def test_cpu_target_has_only_cpu_instances(gpu_config: Any) -> None:
    adapted = model_config.adapt_to_target(gpu_config, CPU, backend="")
    assert _groups(adapted) == [(2, "KIND_CPU", []), (0, "KIND_CPU", [])]
    assert adapted.name == "a"
    assert _groups(gpu_config)[0] == (2, "KIND_GPU", [0, 1])


def test_gpu_target_leaves_the_config_unchanged(gpu_config: Any) -> None:
    assert model_config.adapt_to_target(gpu_config, GPU, backend="") == gpu_config


def test_only_comments_may_have_other_bytes_than_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "config.pbtxt"
    path.write_bytes(b'name: "a" # \xd6\xd0\n')
    assert model_config.read(path).name == "a"
    path.write_bytes(b'name: "a"\nbackend: "\xff"\n')
    with pytest.raises(model_config.NotParsed, match="1:1: a value is not UTF-8: save the file"):
        model_config.read(path)


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("max_batch_size: ${triton_max_batch_size}", "is of a template: fill in its variables"),
        ("input { data_type: TYPE_BYTES }", "Write TYPE_STRING, the name of BYTES"),
        ("input { data_type: TYPE_FLOAT }", "Did you mean TYPE_"),
    ],
)
def test_advice_follows_the_error(line: str, advice: str) -> None:
    with pytest.raises(model_config.NotParsed, match=advice):
        model_config.parse(f"# comment\n{line}\n")


TORCHSCRIPT = """
platform: "pytorch_libtorch"
default_model_filename: "traced.pt"
parameters { key: "INFERENCE_MODE" value { string_value: "true" } }
optimization { execution_accelerators { gpu_execution_accelerator { name: "tensorrt" } } }
instance_group [ { count: 2 kind: KIND_GPU profile: "0" } ]
dynamic_batching { }
"""


def test_settings_of_the_old_backend_are_removed() -> None:
    config = model_config.parse(TORCHSCRIPT)
    adapted = model_config.adapt_to_target(config, GPU, backend="onnxruntime")
    expected = 'backend: "onnxruntime" instance_group [ { count: 2 kind: KIND_GPU } ]'
    assert adapted == model_config.parse(f"{expected} optimization {{ }} dynamic_batching {{ }}")


def test_gpu_accelerator_is_removed_for_a_cpu_target() -> None:
    adapted = model_config.adapt_to_target(model_config.parse(TORCHSCRIPT), CPU, backend="pytorch")
    assert not adapted.optimization.execution_accelerators.gpu_execution_accelerator
