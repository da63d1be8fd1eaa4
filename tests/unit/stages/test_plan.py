"""PlannedStage: archives, catalog entries and time budget of a stage."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model_build import BuildError, check_model
from model_build.manifest import Signature
from model_build.source import ModelFolder
from plan.document import PlannedEndpoint, PlannedModel
from platform_facts.rules.checked_yaml import LocatedErrors
from stages import StageConfig
from stages.plan import PlannedStage, checked_model
from tests.processes import run_program

ROOT = Path(__file__).parents[3]


def stage(region: str = "us-east-1", **endpoint: Any) -> StageConfig:
    endpoint = {"models": ["minilm"], "instance_type": "ml.g5.xlarge", **endpoint}
    return StageConfig.model_validate(
        {"region": region, "release": "25.09", "endpoints": {"text": endpoint}}
    )


def plan(python: str | None = None, **settings: Any) -> PlannedEndpoint:
    return PlannedStage.of("dev", stage(**settings), python=python).plan.endpoints["text"]


def only_model(endpoint: PlannedEndpoint) -> PlannedModel:
    (model,) = endpoint.models.values()
    return model


def problems(**settings: Any) -> dict[tuple[str | int, ...], str]:
    with pytest.raises(LocatedErrors) as raised:
        PlannedStage.of("dev", stage(**settings))
    return dict(raised.value.errors)


def test_variants_with_the_same_gpu_share_an_archive() -> None:
    endpoint = plan(variants={"Small": {}, "Large": {"instance_type": "ml.g5.4xlarge"}})
    pools = [pool for variant in endpoint.settings.variants.values() for pool in variant.pools]
    assert [pool.prefix for pool in pools] == 2 * ["text/cuda-25.09-sm86/"]
    model = only_model(endpoint)
    assert model.catalog.target_model == f"minilm-{model.version}.tar.gz"
    assert [*model.archives] == [f"text/cuda-25.09-sm86/{model.catalog.target_model}"]


def test_pools_with_different_gpus_have_separate_archives() -> None:
    endpoint = plan(
        hosting="single-model", instance_type=None, instance_types=["ml.g6.xlarge", "ml.g5.xlarge"]
    )
    (variant,) = endpoint.settings.variants.values()
    assert variant.instance_types == ("ml.g6.xlarge", "ml.g5.xlarge")
    assert [key.rpartition("/")[0] for key in only_model(endpoint).archives] == [
        "text/cuda-25.09-sm89",
        "text/cuda-25.09-sm86",
    ]
    assert only_model(endpoint).catalog.target_model is None


def test_other_python_version_has_its_own_prefix() -> None:
    (key,) = only_model(plan(instance_type="ml.m5.xlarge", python="3.11")).archives
    assert key.startswith("text/cpu-25.09-py311/")
    with pytest.raises(BuildError, match="not a Python version"):
        plan(python="three")


def test_unknown_models_are_errors_at_their_keys() -> None:
    raised = problems(models=["minilm", "mimilm", "resnet"])
    assert list(raised) == [("endpoints", "text", "models", number) for number in (1, 2)]
    assert "did you mean minilm?" in raised["endpoints", "text", "models", 1]


def test_folder_of_a_table_stands_for_its_rows() -> None:
    endpoint = plan(models=["minilm", "demand"])
    assert [*endpoint.models] == ["minilm", "demand-berlin", "demand-lyon", "demand-porto"]
    assert [*plan(models=["demand-lyon"]).models] == ["demand-lyon"]
    raised = problems(models=["demand-lyon", "demand"])
    assert raised == {
        ("endpoints", "text", "models", 1): "demand-lyon has the model demand-lyon, too: remove one"
    }
    raised = problems(models=["demand"], hosting="single-model")
    assert list(raised.values()) == [
        "a table of 3 rows needs hosting: multi-model: write that, or the name of a row"
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"instance_type": "ml.g4dn.xlarge"}, "compute capability 7.5 cannot be compiled"),
        ({"region": "eu-north-1"}, "CodeBuild has no GPU in this region"),
    ],
)
def test_unbuildable_model_is_an_error_at_its_key(settings: dict[str, Any], message: str) -> None:
    raised = problems(**settings)
    assert message in raised["endpoints", "text", "models", 0]


IMAGE = f"111122223333.dkr.ecr.us-east-1.amazonaws.com/teams/triton@sha256:{'0a' * 32}"


@pytest.fixture
def _own_backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the endpoint's model one of a backend that neither AWS nor NVIDIA has."""
    folder = tmp_path / "tokens"
    (folder / "tokens" / "1").mkdir(parents=True)
    (folder / "tokens" / "1" / "vocabulary.txt").touch()
    (folder / "tokens" / "config.pbtxt").write_text(
        """backend: "tokens"
input [ { name: "TEXT" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "IDS" data_type: TYPE_INT64 dims: [ -1 ] } ]
"""
    )
    own = check_model(ModelFolder(folder).model())
    monkeypatch.setattr("stages.plan.checked_model", lambda _: own)


@pytest.mark.usefixtures("_own_backend")
def test_backend_of_ones_own_needs_an_image_that_has_it() -> None:
    cpu: dict[str, Any] = {"models": ["tokens"], "instance_type": "ml.m5.xlarge"}
    endpoint = plan(**cpu, image={"uri": IMAGE, "backends": ["tokens", "python"]})
    assert endpoint.settings.settings["image"] == {"uri": IMAGE, "backends": ["tokens", "python"]}
    refused: tuple[dict[str, Any], ...] = (
        {},
        {"image": {"uri": IMAGE}},
        {"image": {"uri": IMAGE, "backends": ["python"]}},
    )
    for image in refused:
        problem = problems(**cpu, **image)["endpoints", "text", "models", 0]
        assert 'tokens/config.pbtxt:1:1: the endpoint\'s image has no backend "tokens"' in problem
    assert problem.endswith("list it in image.backends [image_backends]")


def test_backends_of_the_image_are_those_that_its_models_need() -> None:
    single: dict[str, Any] = {"models": ["resnet50-onnx"], "hosting": "single-model"}
    onnx = {"uri": IMAGE, "backends": ["onnxruntime"]}
    assert plan(**single, image=onnx).models
    for model, backend in {"minilm": "python", "bert": "tensorrt"}.items():
        raised = problems(**single | {"models": [model]}, image=onnx)
        assert f'has no backend "{backend}"' in raised["endpoints", "text", "models", 0]


def test_too_large_catalog_entry_is_an_error_at_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    tensor = {"name": "x" * 400 * 1024, "datatype": "FP32", "shape": [1]}
    large = {"inputs": [tensor], "outputs": [], "max_batch_size": 1}
    monkeypatch.setattr(Signature, "model_dump", lambda _: large)
    raised = problems()
    assert "the catalog entry of minilm has" in raised["endpoints", "text", "models", 0]


@pytest.fixture
def _decoupled(monkeypatch: pytest.MonkeyPatch) -> None:
    decoupled = replace(checked_model("minilm"), is_decoupled=True)
    monkeypatch.setattr("stages.plan.checked_model", lambda _: decoupled)


@pytest.mark.usefixtures("_decoupled")
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"hosting": "single-model"},
        {"hosting": "single-model", "server": {"inference_type": "infer"}},
    ],
)
def test_decoupled_model_needs_a_generate_inference_type(settings: dict[str, Any]) -> None:
    raised = problems(**settings)
    assert raised["endpoints", "text", "models", 0].startswith(
        "minilm is decoupled, and a multi-model endpoint and inference_type infer answer a request "
        "with one response: write hosting: single-model and server: { inference_type: "
        "generate_stream } with release 25.03 or newer"
    )


@pytest.mark.usefixtures("_decoupled")
@pytest.mark.parametrize("inference_type", ["generate", "generate_stream"])
def test_decoupled_model_with_generate_is_valid(inference_type: str) -> None:
    assert only_model(plan(hosting="single-model", server={"inference_type": inference_type}))


def test_time_budget_uses_max_count_of_schedules() -> None:
    night = {"at": "cron(0 20 ? * MON-FRI *)", "min_count": 1, "max_count": 2}
    scaling = {"min_count": 1, "max_count": 1, "schedules": {"night": night}}
    update = {"strategy": "rolling", "percent": 50, "wait_seconds": 60}
    config = stage(update=update, scaling=scaling)
    budget = PlannedStage.of("dev", config).plan.time_budget
    # Two batches of one instance, each with 40 minutes to start and one to wait.
    assert budget.rows["update of its endpoint"] == 2 * 41


def test_update_that_is_too_long_for_its_timeouts_names_them() -> None:
    """Each key is in its range, and the update waits for nothing else."""
    raised = problems(
        hosting="single-model", download_timeout_minutes=60, startup_timeout_minutes=60
    )
    message = raised["endpoints", "text", "update"]
    assert message.startswith("an update takes up to 145 minutes, ")
    assert "shorter wait_seconds, download_timeout_minutes or startup_timeout_minutes" in message


@pytest.mark.parametrize(
    ("instance_type", "engines"), [("ml.g5.xlarge", True), ("ml.m5.xlarge", False)]
)
def test_engines_are_planned_only_for_gpus(instance_type: str, engines: bool) -> None:
    endpoint = plan(instance_type=instance_type, models=["minilm"])
    (archive,) = only_model(endpoint).archives.values()
    assert bool(archive.engines) is engines


def test_plan_imports_neither_the_cdk_nor_packages_of_builds() -> None:
    # The CDK starts node, and the packages of builds take seconds to import.
    program = (
        "import sys; slow = ['aws_cdk', 'jsii', 'boto3', 'onnx', 'onnxruntime', 'torch'];"
        "sys.modules.update(dict.fromkeys(slow)); from stages import command, load_stage;"
        "from stages.plan import PlannedStage;"
        "assert PlannedStage.of('prod', load_stage('prod')).plan.endpoints['text'].models"
    )
    run_program(sys.executable, "-c", program, cwd=ROOT)
