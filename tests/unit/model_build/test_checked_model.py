import shutil
from pathlib import Path

import pytest

import model_build
from model_build import (
    BuildTarget,
    ModelFolder,
    RepositoryInvalid,
    check_model,
    find_model,
    metrics_warnings,
)

MODELS = Path(model_build.__file__).parents[1] / "models"


def test_checked_model_knows_what_builds_do_not_load(doubled: Path) -> None:
    for name in ("minilm", "bert", "resnet50-tensorrt"):  # ONNX files for a CPU
        assert check_model(find_model(MODELS, name)).load_obstacle is None
    config = doubled / "double" / "config.pbtxt"
    python = config.read_text()
    config.write_text(python.replace('backend: "python"', 'platform: "torch_aoti"'))
    obstacle = check_model(ModelFolder(doubled).model()).load_obstacle
    assert obstacle == "the Triton of builds loads no AOTInductor packages, such as that of double"
    config.write_text(python)
    recipe = doubled / "recipe.yaml"
    recipe.write_text("description: x\nload: { skip: its weights need 80 GB }\n")
    assert check_model(ModelFolder(doubled).model()).load_obstacle == "its weights need 80 GB"


def test_sequence_batching_warns_about_several_instances(doubled: Path) -> None:
    config = doubled / "double" / "config.pbtxt"
    assert check_model(ModelFolder(doubled).model()).instance_warning(max_instances=4) is None
    text = config.read_text().replace("dynamic_batching { }", "")
    config.write_text(text + "sequence_batching { direct { } }\n")
    model = check_model(ModelFolder(doubled).model())
    assert model.instance_warning(max_instances=1) is None
    warning = model.instance_warning(max_instances=4)
    assert warning
    assert warning.startswith("doubled has sequence_batching, and the endpoint up to 4 instances:")


def test_metrics_that_are_not_published_are_warnings(doubled: Path, tmp_path: Path) -> None:
    other = shutil.copytree(doubled, tmp_path / "other")
    script = other / "double" / "1" / "model.py"
    assert [*metrics_warnings([check_model(ModelFolder(doubled).model())])] == []
    script.write_text(f"{script.read_text()}\nFAMILY = pb_utils.MetricFamily(name='mine')\n")
    models = [check_model(ModelFolder(folder).model()) for folder in (doubled, other)]
    assert [*metrics_warnings(models)] == [
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
    assert check_model(ModelFolder(doubled).model()).is_decoupled is is_decoupled


def test_environment_newer_than_the_release_is_refused() -> None:
    model = check_model(find_model(MODELS, "resnet50"))
    pinned = r"models/resnet50/recipe\.yaml:21: resnet50/1/model\.pt: .*pins torch==2\.4\.1"
    with pytest.raises(RepositoryInvalid, match=pinned):
        model.check_target(BuildTarget.parse("cpu-24.03"), builder=None)
    for name in ("resnet50-onnx", "resnet50-tensorrt"):
        model = check_model(find_model(MODELS, name))
        model.check_target(BuildTarget.parse("cpu-24.03"), builder=None)


def test_checked_alternative_has_engines_and_archive_name() -> None:
    model = check_model(find_model(MODELS, "resnet50-tensorrt"))
    assert model.engines == ("resnet50/1/model.plan",)
    assert (model.name, model.alternative) == ("resnet50-tensorrt", "tensorrt")
    assert model.version == model.digest[:12]
    assert model.target_model == f"resnet50-tensorrt-{model.version}.tar.gz"
