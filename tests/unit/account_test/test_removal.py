"""Deletion of all resources of a run, also after errors of AWS."""

from pathlib import Path
from typing import Any

import pytest

from account_test.answers import AnswerRecorder
from account_test.removal import KINDS, Removal
from account_test.state import State
from tests.unit.release.preflight.conftest import Aws, error

GONE = error("ValidationError", "Stack with id x does not exist")
NOTHING: dict[str, Any] = {
    "cloudformation.DescribeStacks": GONE,
    "iam.GetRole": error("NoSuchEntity"),
    "logs.DescribeLogGroups": {"logGroups": []},
    "resourcegroupstaggingapi.GetResources": {"ResourceTagMappingList": []},
    "sagemaker.ListEndpointConfigs": {"EndpointConfigs": []},
    "sagemaker.ListEndpoints": {"Endpoints": []},
    "sagemaker.ListModels": {"Models": []},
}
KEY = {"KeyId": "1234abcd"}


@pytest.fixture
def aws() -> Aws:
    aws = Aws()
    aws.answers |= NOTHING
    return aws


@pytest.fixture
def state(tmp_path: Path) -> State:
    state = State(tmp_path / "state.json")
    state.begin("111122223333", "us-east-1")
    return state


@pytest.fixture
def removal(aws: Aws, state: State) -> Removal:
    return Removal(AnswerRecorder(aws.session), state)


def model(name: str) -> dict[str, Any]:
    return {"ModelName": name, "ModelArn": f"arn:aws:sagemaker:::model/{name}", "CreationTime": 0}


def test_removal_without_resources_ends_the_run(removal: Removal, state: State) -> None:
    assert removal.find() == {}
    assert removal.remove_all() == []
    assert state.content == {}


def test_failed_deletion_is_reported_and_others_continue(
    aws: Aws, removal: Removal, state: State
) -> None:
    models = ["triton-acctest-free", "triton-acctest-more"]

    def delete(request: dict[str, str]) -> dict[str, Any]:
        if request["ModelName"] == models[0]:
            raise error("AccessDeniedException", "You may not", "DeleteModel")
        models.remove(request["ModelName"])
        return {}

    aws.answers["sagemaker.ListModels"] = lambda _: {"Models": [model(name) for name in models]}
    aws.answers["sagemaker.DeleteModel"] = delete
    (remaining,) = removal.remove_all()
    assert remaining.startswith("model triton-acctest-free: ")
    assert "You may not" in remaining
    assert models == ["triton-acctest-free"]
    assert state.content, "the next run tries it again"


def test_failed_listing_is_reported_and_others_continue(aws: Aws, removal: Removal) -> None:
    aws.answers["sagemaker.ListEndpoints"] = error("AccessDeniedException", "You may not")
    (remaining,) = removal.remove_all()
    assert remaining.startswith("endpoint: cannot be listed: ")
    assert aws.requests("logs.DescribeLogGroups")


def test_resource_with_prefix_inside_its_name_is_kept(aws: Aws, removal: Removal) -> None:
    aws.answers["sagemaker.ListModels"] = {"Models": [model("my-triton-acctest-copy")]}
    assert removal.find() == {}


def test_kms_key_in_state_file_is_scheduled_for_deletion(
    aws: Aws, removal: Removal, state: State
) -> None:
    key = {**KEY, "KeyState": "Enabled"}

    def schedule(_: Any) -> dict[str, Any]:
        key["KeyState"] = "PendingDeletion"
        return {}

    state.add_resources("key", ["1234abcd"])
    aws.answers["kms.DescribeKey"] = lambda _: {"KeyMetadata": key}
    aws.answers["kms.ScheduleKeyDeletion"] = schedule
    assert removal.find() == {"key": ["1234abcd"]}
    assert removal.remove_all() == []
    (request,) = aws.requests("kms.ScheduleKeyDeletion")
    assert request == {**KEY, "PendingWindowInDays": 7}


def test_bucket_is_found_by_its_tag(aws: Aws, removal: Removal) -> None:
    buckets = [{"ResourceARN": "arn:aws:s3:::triton-acctest-models-one"}]

    def tagged(request: dict[str, Any]) -> dict[str, Any]:
        s3 = request["ResourceTypeFilters"] == ["s3"]
        return {"ResourceTagMappingList": buckets if s3 else []}

    aws.answers["resourcegroupstaggingapi.GetResources"] = tagged
    aws.answers["s3.HeadBucket"] = {}
    assert removal.find() == {"bucket": ["triton-acctest-models-one"]}
    request = aws.requests("resourcegroupstaggingapi.GetResources")[0]
    assert request["TagFilters"] == [{"Key": "triton-acctest"}]


def test_retained_resources_are_saved_before_stack_deletion(
    aws: Aws, removal: Removal, state: State
) -> None:
    def delete(_: Any) -> dict[str, Any]:
        assert state.content["bucket"] == ["left"]
        aws.answers["cloudformation.DescribeStacks"] = GONE
        return {}

    stack = {"StackName": "x", "CreationTime": 0, "StackStatus": "CREATE_COMPLETE"}
    bucket = {
        **{"LogicalResourceId": "Bucket", "ResourceType": "AWS::S3::Bucket"},
        **{"LastUpdatedTimestamp": 0, "ResourceStatus": "CREATE_COMPLETE"},
        "PhysicalResourceId": "left",
    }
    aws.answers["cloudformation.DescribeStacks"] = {"Stacks": [stack]}
    aws.answers["cloudformation.ListStackResources"] = {"StackResourceSummaries": [bucket]}
    aws.answers["cloudformation.DeleteStack"] = delete
    aws.answers["s3.HeadBucket"] = error("404")
    assert removal.remove_all() == []


def test_stacks_are_deleted_before_their_buckets_and_keys() -> None:
    kinds = list(KINDS)
    assert kinds[:2] == ["stack", "endpoint"]
    assert kinds.index("role") < kinds.index("bucket") < kinds.index("key")


def test_failed_stack_deletion_is_reported_with_reason(aws: Aws, removal: Removal) -> None:
    stack = {"StackName": "x", "CreationTime": 0, "StackStatus": "CREATE_COMPLETE"}

    def delete(_: Any) -> dict[str, Any]:
        stack.update(StackStatus="DELETE_FAILED", StackStatusReason="an export is in use")
        return {}

    aws.answers["cloudformation.DescribeStacks"] = lambda request: (
        {"Stacks": [stack]} if request["StackName"] == "triton-acctest-cpu" else raise_gone()
    )
    aws.answers["cloudformation.ListStackResources"] = {"StackResourceSummaries": []}
    aws.answers["cloudformation.DeleteStack"] = delete
    assert removal.remove_all() == ["stack triton-acctest-cpu: DELETE_FAILED: an export is in use"]


def raise_gone() -> dict[str, Any]:
    raise GONE
