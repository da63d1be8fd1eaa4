import pytest

from model_build import BuildError, BuildTarget
from model_build.publishing.hosted import ArchivePrefix, archive_prefixes
from tests.unit.model_build.fakes import FakeCloudFormation, FakeSageMaker

ERROR_HINT = "(Wait until it has finished|Continue it first)"
CPU = "s3://models/text/cpu-24.09/"
GPU = "s3://models/text/cuda-25.09-sm86/"


def prefixes(sagemaker: FakeSageMaker, *, stack_status: str | None = None) -> list[ArchivePrefix]:
    cloudformation = FakeCloudFormation()
    if stack_status:
        cloudformation.stacks["dev-text"] = stack_status
    return archive_prefixes(sagemaker.client, cloudformation.client, "dev-text")


def test_prefixes_of_all_variants_have_targets_without_duplicates(sagemaker: FakeSageMaker) -> None:
    sagemaker.host("dev-text", GPU, CPU, GPU)
    assert prefixes(sagemaker) == [
        ArchivePrefix(
            "models",
            "text/cuda-25.09-sm86/",
            BuildTarget(release="25.09", compute_capability="8.6"),
        ),
        ArchivePrefix("models", "text/cpu-24.09/", BuildTarget(release="24.09")),
    ]


URL = "s3://models/text/cpu-24.09/minilm.tar.gz"


@pytest.mark.parametrize(
    "container",
    [{"ModelDataUrl": URL}, {"ModelDataUrl": URL, "Mode": "SingleModel"}],
    ids=["default", "single-model"],
)
def test_endpoint_without_a_multi_model_container_is_refused(
    sagemaker: FakeSageMaker, container: dict[str, str]
) -> None:
    sagemaker.endpoints["dev-text"] = [container]
    with pytest.raises(
        BuildError, match=r"^dev-text is not a multi-model endpoint: .* tritonsm rollback-stage$"
    ):
        prefixes(sagemaker)


@pytest.mark.parametrize("status", ["Updating", "Creating"])
def test_endpoint_during_an_update_is_refused(sagemaker: FakeSageMaker, status: str) -> None:
    sagemaker.host("dev-text", CPU)
    sagemaker.status = status
    sagemaker.pending = {"PendingDeploymentSummary": {"EndpointConfigName": "config-new"}}
    with pytest.raises(BuildError, match=f"dev-text is {status}: the catalog must not change"):
        prefixes(sagemaker)


@pytest.mark.parametrize("status", ["Updating", "RollingBack", "SystemUpdating"])
def test_scaling_and_maintenance_are_not_refused(sagemaker: FakeSageMaker, status: str) -> None:
    sagemaker.host("dev-text", CPU)
    sagemaker.status = status
    assert prefixes(sagemaker)


@pytest.mark.parametrize(
    ("status", "is_refused"),
    [
        ("UPDATE_IN_PROGRESS", True),
        ("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", True),
        ("UPDATE_ROLLBACK_FAILED", True),
        ("UPDATE_COMPLETE", False),
        ("UPDATE_ROLLBACK_COMPLETE", False),
    ],
)
def test_stack_during_an_update_is_refused(
    sagemaker: FakeSageMaker, status: str, *, is_refused: bool
) -> None:
    sagemaker.host("dev-text", CPU)
    if not is_refused:
        assert prefixes(sagemaker, stack_status=status)
        return
    with pytest.raises(BuildError, match=f"^the stack dev-text is {status}: .* {ERROR_HINT}"):
        prefixes(sagemaker, stack_status=status)


def test_prefix_without_a_target_is_refused(sagemaker: FakeSageMaker) -> None:
    sagemaker.host("dev-text", "s3://models/text/")
    with pytest.raises(BuildError, match="s3://models/text/ does not end in the target of its"):
        prefixes(sagemaker)
