from typing import TYPE_CHECKING

import pytest

from model_build import BuildError, BuildTarget
from model_build.publishing.hosted import ArchivePrefix, archive_prefixes
from tests.unit.model_build.fakes import FakeCloudFormation

if TYPE_CHECKING:
    from tests.unit.model_build.fakes import FakeSageMaker

CPU = "s3://models/text/cpu-24.09/"
GPU = "s3://models/text/cuda-25.09-sm86/"


def test_every_variants_prefix_is_told_with_its_target_once(sagemaker: "FakeSageMaker") -> None:
    sagemaker.host("dev-text", GPU, CPU, GPU)
    assert archive_prefixes(sagemaker.client, FakeCloudFormation().client, "dev-text") == [
        ArchivePrefix(
            "models",
            "text/cuda-25.09-sm86/",
            BuildTarget(release="25.09", compute_capability="8.6"),
        ),
        ArchivePrefix("models", "text/cpu-24.09/", BuildTarget(release="24.09")),
    ]


def test_an_endpoint_that_is_not_there_is_told_with_what_to_write(
    sagemaker: "FakeSageMaker",
) -> None:
    with pytest.raises(BuildError) as refused:
        archive_prefixes(sagemaker.client, FakeCloudFormation().client, "dev-text")
    assert str(refused.value) == (
        "no endpoint dev-text: deploy it, or write another STAGE and ENDPOINT"
    )


URL = "s3://models/text/cpu-24.09/minilm.tar.gz"


@pytest.mark.parametrize(
    "container",
    [{"ModelDataUrl": URL}, {"ModelDataUrl": URL, "Mode": "SingleModel"}, None],
    ids=["default", "single-model", "components"],
)
def test_an_endpoint_whose_stack_names_the_archives_is_refused(
    sagemaker: "FakeSageMaker", container: dict[str, str] | None
) -> None:
    sagemaker.endpoints["dev-text"] = [container]
    with pytest.raises(
        BuildError, match=r"^dev-text is not a multi-model endpoint: .* tritonsm rollback-stage$"
    ):
        archive_prefixes(sagemaker.client, FakeCloudFormation().client, "dev-text")


def test_a_prefix_that_names_no_target_is_refused(sagemaker: "FakeSageMaker") -> None:
    sagemaker.host("dev-text", "s3://models/text/")
    with pytest.raises(BuildError) as refused:
        archive_prefixes(sagemaker.client, FakeCloudFormation().client, "dev-text")
    assert str(refused.value).startswith(
        "s3://models/text/ does not end in the target of its archives: 'text' is not a build"
    )


@pytest.mark.parametrize("status", ["Updating", "Creating"])
def test_an_endpoint_that_is_being_updated_is_refused_with_what_to_wait_for(
    sagemaker: "FakeSageMaker", status: str
) -> None:
    sagemaker.host("dev-text", CPU)
    sagemaker.status = status
    sagemaker.pending = {"PendingDeploymentSummary": {"EndpointConfigName": "config-new"}}
    with pytest.raises(BuildError) as refused:
        archive_prefixes(sagemaker.client, FakeCloudFormation().client, "dev-text")
    assert str(refused.value) == (
        f"the endpoint dev-text is {status}: the catalog must not change meanwhile. "
        "Wait until it is InService, and run this again: aws sagemaker wait endpoint-in-service "
        "--endpoint-name dev-text"
    )


@pytest.mark.parametrize("status", ["Updating", "RollingBack", "SystemUpdating"])
def test_scaling_and_maintenance_are_no_update(sagemaker: "FakeSageMaker", status: str) -> None:
    sagemaker.host("dev-text", CPU)
    sagemaker.status = status
    assert archive_prefixes(sagemaker.client, FakeCloudFormation().client, "dev-text")


@pytest.mark.parametrize(
    ("status", "refused"),
    [
        ("UPDATE_IN_PROGRESS", True),
        ("UPDATE_ROLLBACK_IN_PROGRESS", True),
        ("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", True),
        ("UPDATE_ROLLBACK_FAILED", True),
        ("UPDATE_COMPLETE", False),
        ("UPDATE_ROLLBACK_COMPLETE", False),
    ],
)
def test_an_update_begins_and_ends_with_the_stacks(
    sagemaker: "FakeSageMaker", status: str, *, refused: bool
) -> None:
    sagemaker.host("dev-text", CPU)
    cloudformation = FakeCloudFormation()
    cloudformation.stacks = {"dev-text": status}
    if not refused:
        assert archive_prefixes(sagemaker.client, cloudformation.client, "dev-text")
        return
    what_helps = "(Wait until it has finished|Continue it first)"
    with pytest.raises(BuildError, match=f"^the stack dev-text is {status}: .* {what_helps}"):
        archive_prefixes(sagemaker.client, cloudformation.client, "dev-text")
