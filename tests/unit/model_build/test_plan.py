import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest

import model_build
from model_build import (
    BuildError,
    BuildTarget,
    ModelSource,
    RepositoryInvalid,
    find_model,
    metrics_warnings,
    plan_model,
)
from platform_facts import ComputeCapability

MODELS = Path(model_build.__file__).parents[1] / "models"


def test_plan_knows_what_builds_do_not_load(doubled: Path) -> None:
    for name in ("minilm", "bert", "resnet50-tensorrt"):  # ONNX files for a CPU
        assert plan_model(find_model(MODELS, name)).load_obstacle is None
    config = doubled / "double" / "config.pbtxt"
    python = config.read_text()
    config.write_text(python.replace('backend: "python"', 'platform: "torch_aoti"'))
    obstacle = plan_model(ModelSource(doubled)).load_obstacle
    assert obstacle == "the Triton of builds loads no AOTInductor packages, such as that of double"
    config.write_text(python)
    recipe = doubled / "recipe.yaml"
    recipe.write_text("description: x\nload: { skip: its weights need 80 GB }\n")
    assert plan_model(ModelSource(doubled)).load_obstacle == "its weights need 80 GB"


def test_sequence_batching_warns_about_several_instances(doubled: Path) -> None:
    config = doubled / "double" / "config.pbtxt"
    assert plan_model(ModelSource(doubled)).instance_warning(max_instances=4) is None
    text = config.read_text().replace("dynamic_batching { }", "")
    config.write_text(text + "sequence_batching { direct { } }\n")
    plan = plan_model(ModelSource(doubled))
    assert plan.instance_warning(max_instances=1) is None
    warning = plan.instance_warning(max_instances=4)
    assert warning
    assert warning.startswith("doubled has sequence_batching, and the endpoint up to 4 instances:")


def test_metrics_that_are_not_published_are_warnings(doubled: Path, tmp_path: Path) -> None:
    other = shutil.copytree(doubled, tmp_path / "other")
    script = other / "double" / "1" / "model.py"
    assert [*metrics_warnings([plan_model(ModelSource(doubled))])] == []
    script.write_text(f"{script.read_text()}\nFAMILY = pb_utils.MetricFamily(name='mine')\n")
    assert [*metrics_warnings(plan_model(ModelSource(folder)) for folder in (doubled, other))] == [
        "other/double registers custom metrics, which AWS's image does not publish: write them to "
        "the log instead (docs/stages.md, The server)",
        "doubled, other have a folder double each, whose metrics Triton does not distinguish: "
        "rename the folders, in the steps of the ensembles too",
    ]


@pytest.mark.parametrize(
    ("model", "is_decoupled"), [("double", True), ("doubled", False)], ids=["step", "ensemble"]
)
def test_ensemble_is_decoupled_if_a_step_is(doubled: Path, model: str, is_decoupled: bool) -> None:
    config = doubled / model / "config.pbtxt"
    config.write_text(config.read_text() + "model_transaction_policy { decoupled: true }\n")
    assert plan_model(ModelSource(doubled)).is_decoupled is is_decoupled


A10G = ComputeCapability(8, 6)


@pytest.mark.parametrize(
    ("name", "target", "is_refused"),
    [
        ("bert", "cuda-25.09-sm86", False),
        ("bert", "cuda-25.09-sm89", False),
        ("bert", "cuda-25.09-sm75", True),
        ("bert", "cpu-24.09", False),
        ("resnet50", "cuda-25.09-sm75", False),
        ("resnet50-tensorrt", "cuda-25.09-sm75", True),
    ],
)
def test_engine_that_the_builder_cannot_compile_is_refused(
    name: str, target: str, *, is_refused: bool
) -> None:
    plan = plan_model(find_model(MODELS, name))
    expected = (
        pytest.raises(BuildError, match=r"1/model\.plan: an engine")
        if is_refused
        else nullcontext()
    )
    with expected:
        plan.check_target(BuildTarget.parse(target), builder=A10G)


def test_engine_without_a_gpu_builder_is_refused() -> None:
    target = BuildTarget.parse("cuda-25.09-sm86")
    plan_model(find_model(MODELS, "resnet50")).check_target(target, builder=None)
    with pytest.raises(BuildError, match=r"1/model\.plan: CodeBuild has no GPU in this region"):
        plan_model(find_model(MODELS, "bert")).check_target(target, builder=None)


def test_environment_newer_than_the_release_is_refused() -> None:
    plan = plan_model(find_model(MODELS, "resnet50"))
    pinned = r"models/resnet50/recipe\.yaml:16: resnet50/1/model\.pt: .*pins torch==2\.4\.1"
    with pytest.raises(RepositoryInvalid, match=pinned):
        plan.check_target(BuildTarget.parse("cpu-24.03"), builder=None)
    for name in ("resnet50-onnx", "resnet50-tensorrt"):
        plan = plan_model(find_model(MODELS, name))
        plan.check_target(BuildTarget.parse("cpu-24.03"), builder=None)


def test_plan_of_an_alternative_has_engines_and_archive_name() -> None:
    plan = plan_model(find_model(MODELS, "resnet50-tensorrt"))
    assert plan.engines == ("resnet50/1/model.plan",)
    assert (plan.name, plan.alternative) == ("resnet50-tensorrt", "tensorrt")
    assert plan.version == plan.digest[:12]
    assert plan.target_model == f"resnet50-tensorrt-{plan.version}.tar.gz"
