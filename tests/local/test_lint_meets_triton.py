"""Property test: a real Triton loads every model repository without findings of the linter.

The generated repositories are valid or have one mistake. The linter may reject more than Triton.
"""

import itertools
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import text_format
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tritonclient.grpc import model_config_pb2

from cli.external_triton import REQUEST_TIMEOUT_SECONDS, TARGET_MODEL
from local_sagemaker.tests.support.triton import Triton, triton_in
from model_build import checks
from model_build.model_config import ModelConfig
from model_build.repository import CONFIG, Repository

pytestmark = pytest.mark.drill

EXAMPLES = 40
MIN_EXAMPLES = 5
"""Minimum number of accepted and of rejected repositories in a run."""

MODEL = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([]) for _ in requests]
"""

# Optional lines of a configuration: at most one of each group.

OPTIONAL_LINES = (
    ("max_batch_size: 1", "max_batch_size: 4", "max_batch_size: 4"),
    (
        "instance_group { kind: KIND_CPU }",
        "instance_group { kind: KIND_CPU count: 2 }",
        "instance_group [ { kind: KIND_CPU }, { kind: KIND_CPU name: 'second' count: 0 } ]",
        "instance_group { kind: KIND_MODEL }",
    ),
    (
        "dynamic_batching { }",
        "dynamic_batching { preferred_batch_size: [ 4, 1 ] max_queue_delay_microseconds: 100 }",
        "dynamic_batching { priority_levels: 2 default_priority_level: 1 "
        "priority_queue_policy { key: 2 value { timeout_action: DELAY max_queue_size: 4 } } }",
        "dynamic_batching { preserve_ordering: true default_queue_policy { max_queue_size: 8 } }",
        "sequence_batching { }",
        "sequence_batching { direct { } control_input { name: 'START' control { "
        "kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ] } } }",
        "sequence_batching { oldest { max_candidate_sequences: 4 } "
        "control_input { name: 'ID' control { kind: CONTROL_SEQUENCE_CORRID "
        "data_type: TYPE_UINT64 } } }",
    ),
    (
        "version_policy { all { } }",
        "version_policy { latest { num_versions: 2 } }",
        "version_policy { specific { versions: 1 } }",
    ),
    (
        "parameters { key: 'FORCE_CPU_ONLY_INPUT_TENSORS' value { string_value: 'no' } }",
        "parameters [ { key: 'Ä \"b\"' value { } }, { key: '' value { string_value: 'x' } } ]",
    ),
    (
        "optimization { priority: PRIORITY_MAX input_pinned_memory { enable: false } }",
        "metric_tags { key: 'team' value: 'search' }",
        "model_transaction_policy { decoupled: true }",
    ),
)
# Not generated, because only Triton checks them, when it loads a model:
# queue policies, controls of sequences, versions of a policy, response caches of stateful models,
# image formats, shape tensors, label files, parameters, accelerators and profiles of backends,
# batch_input and batch_output, initial_state, warm-up data, model_metrics, runtime.
MISTAKES = (
    "name: 'another'",
    "platform: 'onnxruntime_onnx'",
    "max_batch_size: -1",
    "input { name: 'X' data_type: TYPE_FP32 }",
    "input { name: 'X' data_type: TYPE_FP32 dims: 0 }",
    "input { name: 'X' data_type: TYPE_FP32 dims: -2 }",
    "input { name: 'X' dims: 1 }",
    "input { data_type: TYPE_FP32 dims: 1 }",
    "input { name: 'X' data_type: TYPE_FP32 dims: [ 2, 3 ] reshape { shape: 5 } }",
    "input { name: 'X' data_type: TYPE_FP32 dims: [ 2, -1 ] reshape { shape: [ -1, 3 ] } }",
    "output { name: 'Y' data_type: TYPE_FP32 dims: [ 2, 0 ] }",
    "output { name: 'Y' data_type: TYPE_FP32 dims: 4 reshape { shape: [ 2, 3 ] } }",
    "instance_group { kind: KIND_CPU gpus: 0 }",
    "dynamic_batching { preferred_batch_size: 0 }",
    "dynamic_batching { preferred_batch_size: 5 }",
)

ENSEMBLE_MISTAKES = (
    "input { name: 'Z' data_type: TYPE_FP32 dims: 1 }",
    "output { name: 'Z' data_type: TYPE_FP32 dims: 1 }",
    "ensemble_scheduling { step { model_name: 'third' } }",
    "ensemble_scheduling { step { model_name: 'first' input_map { key: 'Z' value: 'A' } } }",
    "max_batch_size: 9",
    "instance_group { kind: KIND_CPU }",
)

DIMS = st.lists(st.sampled_from([-1, 1, 2, 3, 16]), min_size=1, max_size=3)
TYPES = st.sampled_from(model_config_pb2.DataType.values()[1:])


@dataclass(frozen=True)
class GeneratedRepository:
    """A model repository: a configuration per model, and the version folders of every model."""

    configs: dict[str, ModelConfig]
    versions: list[str]

    def write(self, folder: Path) -> None:
        for name, config in self.configs.items():
            for version in self.versions:
                (folder / name / version).mkdir(parents=True)
                if config.platform != "ensemble":
                    (folder / name / version / "model.py").write_text(MODEL)
            (folder / name / CONFIG).write_text(text_format.MessageToString(config, as_utf8=True))

    def __repr__(self) -> str:
        texts = {name: text_format.MessageToString(config) for name, config in self.configs.items()}
        return "\n".join(f"--- {name} {self.versions}\n{text}" for name, text in texts.items())


@st.composite
def tensors(draw: st.DrawFn, kind: Any, names: str) -> list[Any]:
    """Draw inputs or outputs, some of them reshaped."""
    result = []
    for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)):
        tensor = kind(name=name, data_type=draw(TYPES), dims=draw(DIMS))
        shape = list(tensor.dims)
        match draw(st.integers(0, 9)):
            case 0:
                tensor.reshape.shape.extend([1, *shape])
            case 1:
                tensor.reshape.shape.extend(size for size in shape if size != 1)
                tensor.reshape.SetInParent()
        result.append(tensor)
    return result


@st.composite
def python_models(draw: st.DrawFn, inputs: list[Any] | None = None) -> ModelConfig:
    """Draw a model of the Python backend."""
    config = model_config_pb2.ModelConfig(
        backend="python",
        input=draw(tensors(model_config_pb2.ModelInput, "AB")) if inputs is None else inputs,
        output=draw(tensors(model_config_pb2.ModelOutput, "CD")),
    )
    for lines in OPTIONAL_LINES:
        text_format.Merge(draw(st.sampled_from(["", *lines])), config)
    return config


@st.composite
def compatible_inputs(draw: st.DrawFn, outputs: list[Any]) -> list[Any]:
    """Draw inputs for the outputs of another model, most of them compatible."""
    inputs = []
    for tensor in outputs:
        dims = [draw(st.sampled_from([size] * 9 + [-1, 7])) for size in tensor.dims]
        kind = draw(st.sampled_from([tensor.data_type] * 19 + [1]))
        inputs.append(model_config_pb2.ModelInput(name=tensor.name, data_type=kind, dims=dims))
    return inputs


def ensemble_of(first: ModelConfig, second: ModelConfig, *, batch: int) -> ModelConfig:
    """Return an ensemble in which all outputs of `first` are inputs of `second`."""
    config = model_config_pb2.ModelConfig(platform="ensemble", max_batch_size=batch)
    for tensor in first.input:
        config.input.add(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
    for tensor in second.output:
        config.output.add(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
    for name, model in (("first", first), ("second", second)):
        step = config.ensemble_scheduling.step.add(model_name=name, model_version=-1)
        for tensor in model.input:
            step.input_map[tensor.name] = tensor.name if model is first else f"M {tensor.name}"
        for tensor in model.output:
            step.output_map[tensor.name] = f"M {tensor.name}" if model is first else tensor.name
    return config


@st.composite
def repositories(draw: st.DrawFn) -> GeneratedRepository:
    """Draw one model, or an ensemble of two; half of the repositories have a mistake."""
    mistakes: list[tuple[str, ...]] = [MISTAKES]
    if draw(st.integers(0, 3)):
        configs = {"model": draw(python_models())}
    else:
        first = draw(python_models())
        second = draw(python_models(draw(compatible_inputs(first.output))))
        batch = draw(st.sampled_from([first.max_batch_size, second.max_batch_size]))
        configs = {"both": ensemble_of(first, second, batch=batch), "first": first}
        configs["second"] = second
        mistakes = [ENSEMBLE_MISTAKES, MISTAKES, MISTAKES]
    if draw(st.booleans()):
        changed, lines = draw(st.sampled_from(list(zip(configs.values(), mistakes, strict=True))))
        text_format.Merge(draw(st.sampled_from(lines)), changed)
    return GeneratedRepository(configs, draw(st.sampled_from([["1"], ["1"], ["1", "3"]])))


@pytest.fixture
def triton(tmp_path: Path) -> Iterator[Triton]:
    """A Triton server as in a multi-model container."""
    with triton_in(tmp_path / "server") as triton:
        yield triton


def load_and_unload(triton: Triton, name: str, repository: Path) -> None:
    """Load a repository and unload it, because models of the next one have the same names."""
    headers = {"Content-Type": "application/json", TARGET_MODEL: name}
    body = json.dumps({"model_name": name, "url": str(repository)}).encode()
    response = triton.request(
        "POST", "/models", body=body, headers=headers, timeout=REQUEST_TIMEOUT_SECONDS
    )
    triton.request(
        "DELETE", f"/models/{name}", body=b"", headers=headers, timeout=REQUEST_TIMEOUT_SECONDS
    )
    assert response.status == 200, response.body.decode()


def test_repository_without_findings_is_loaded(triton: Triton, tmp_path: Path) -> None:
    outcomes = Counter[str]()
    folder = tmp_path / "model"
    names = (f"model-{number}" for number in itertools.count(1))

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(repositories())
    def check(repository: GeneratedRepository) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        repository.write(folder)
        findings = checks.findings(Repository.read(folder), checks.REPOSITORY_RULES)
        if findings:
            outcomes["rejected"] += 1
            return
        load_and_unload(triton, next(names), folder)
        outcomes["loaded"] += 1

    check()
    assert min(outcomes["loaded"], outcomes["rejected"]) >= MIN_EXAMPLES, outcomes
