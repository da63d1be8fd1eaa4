"""Change sets that are made, read, and removed whatever happens."""

import json
from typing import Any

import boto3
import pytest

from release.preflight import change_sets
from release.preflight.findings import Verdict
from tests.unit.release.preflight.conftest import ACCOUNT, REGION, Aws, MakeAccount, denied, error

STACK_ID = f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/prod-text/1"
SET_ID = f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:changeSet/preflight-1/1"
ROLE = "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/cdk-"
MANIFEST = {
    "prod-text": {
        "type": "aws:cloudformation:stack",
        "properties": {
            "assumeRoleArn": f"{ROLE}deploy",
            "cloudFormationExecutionRoleArn": f"{ROLE}exec",
            "stackTemplateAssetObjectUrl": "s3://assets-${AWS::AccountId}/abc.json",
        },
    }
}
ASSETS = {
    "files": {
        "abc": {
            "source": {"path": "prod-text.template.json"},
            "destinations": {
                "here": {
                    "bucketName": "assets-${AWS::AccountId}",
                    "objectKey": "abc.json",
                    "assumeRoleArn": f"{ROLE}files",
                }
            },
        },
        "code": {"source": {"path": "asset.code"}, "destinations": {}},
    }
}


class CloudFormation:
    """One stack, which is there or not, and a change set of it."""

    def __init__(self, aws: Aws, status: str | None) -> None:
        self.status = status
        self.made: list[dict[str, Any]] = []
        self.sets: set[str] = set()
        self.deleted: list[str] = []
        self.set_status, self.reason = "CREATE_COMPLETE", ""
        self.unremovable = 0
        self.refusal: Exception | None = None
        self.events: list[dict[str, Any]] = []
        aws.answers |= {
            "sts.AssumeRole": {
                "Credentials": {
                    "AccessKeyId": "A" * 20,
                    "SecretAccessKey": "s",
                    "SessionToken": "t",
                    "Expiration": "2030-01-01",
                }
            },
            "s3.PutObject": {},
            "cloudformation.ListExports": {"Exports": [{"Name": "prod-models:Bucket"}]},
            "cloudformation.DescribeStacks": lambda _: self._stacks(),
            "cloudformation.CreateChangeSet": self._create,
            "cloudformation.DescribeChangeSet": lambda _: {
                "Status": self.set_status,
                "StatusReason": self.reason,
            },
            "cloudformation.DescribeEvents": lambda _: {"OperationEvents": self.events},
            "cloudformation.DeleteChangeSet": self._delete_set,
            "cloudformation.DeleteStack": self._delete,
        }

    def _stacks(self) -> dict[str, Any]:
        if self.status is None:
            raise error("ValidationError", "Stack with id prod-text does not exist")
        stack = {
            "StackName": "prod-text",
            "StackId": STACK_ID,
            "CreationTime": "2026-01-01",
            "StackStatus": self.status,
        }
        return {"Stacks": [stack]}

    def _create(self, request: dict[str, Any]) -> dict[str, Any]:
        self.made.append(request)
        self.sets.add(request["ChangeSetName"])
        self.status = self.status or "REVIEW_IN_PROGRESS"
        if self.refusal is not None:
            raise self.refusal
        return {"Id": SET_ID, "StackId": STACK_ID}

    def _delete_set(self, request: dict[str, Any]) -> dict[str, Any]:
        if self.unremovable:
            self.unremovable -= 1
            raise error("InvalidChangeSetStatus", "CREATE_IN_PROGRESS", "DeleteChangeSet")
        self.sets.discard(request["ChangeSetName"])
        return {}

    def _delete(self, request: dict[str, Any]) -> dict[str, Any]:
        self.deleted.append(request["StackName"])
        self.sets.clear()
        self.status = "DELETE_COMPLETE"
        return {}


@pytest.fixture(autouse=True)
def _one_session(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions of assumed roles are asked as the caller's is."""
    monkeypatch.setattr(boto3, "Session", lambda **_: aws.session)


def asked(make: MakeAccount, **resources: Any) -> list[Any]:
    account = make(manifest=MANIFEST, prod_text=resources or {"P": ("AWS::SSM::Parameter", {})})
    (account.assembly / "prod-text.assets.json").write_text(json.dumps(ASSETS))
    return list(change_sets.check(account))


def test_a_new_stack_leaves_nothing_behind(make: MakeAccount, aws: Aws) -> None:
    there = CloudFormation(aws, None)
    (row,) = asked(make)
    assert (row.verdict, row.message) == (Verdict.OK, "CloudFormation would do it")
    (made,) = there.made
    assert made["ChangeSetType"] == "CREATE"
    assert made["RoleARN"] == f"arn:aws:iam::{ACCOUNT}:role/cdk-exec"
    assert made["TemplateURL"] == (f"https://s3.us-east-1.amazonaws.com/assets-{ACCOUNT}/abc.json")
    assert (there.sets, there.deleted) == (set(), ["prod-text"])
    (put,) = aws.requests("s3.PutObject")
    assert (put["Bucket"], put["Key"]) == (f"assets-{ACCOUNT}", "abc.json")
    roles = [it["RoleArn"].rpartition("-")[2] for it in aws.requests("sts.AssumeRole")]
    assert roles == ["files", "deploy"]


@pytest.mark.parametrize(
    ("status", "kind"), [("UPDATE_COMPLETE", "UPDATE"), ("REVIEW_IN_PROGRESS", "CREATE")]
)
def test_a_stack_that_was_there_stays(make: MakeAccount, aws: Aws, status: str, kind: str) -> None:
    there = CloudFormation(aws, status)
    asked(make)
    assert there.made[0]["ChangeSetType"] == kind
    assert (there.sets, there.deleted, there.status) == (set(), [], status)


@pytest.mark.parametrize(
    "macro", [{"Transform": "Macro"}, {"Resources": {"P": {"Fn::Transform": {"Name": "Macro"}}}}]
)
def test_no_macro_of_the_account_is_run_for_a_change_set(
    make: MakeAccount, aws: Aws, macro: dict[str, Any]
) -> None:
    there = CloudFormation(aws, None)
    account = make(manifest=MANIFEST, prod_text={"P": ("AWS::SSM::Parameter", {})})
    (account.assembly / "prod-text.assets.json").write_text(json.dumps(ASSETS))
    account.templates["prod-text"].update(macro)
    (row,) = change_sets.check(account)
    assert row.verdict is Verdict.REFUSED
    assert "transform" in row.message
    assert not there.made
    assert not aws.requests("s3.PutObject")


def test_a_macro_is_not_expanded_whatever_the_template_says(make: MakeAccount, aws: Aws) -> None:
    # CreateChangeSet refuses a template with macros without this capability (its API reference).
    there = CloudFormation(aws, None)
    asked(make)
    assert there.made[0]["Capabilities"] == ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"]


def test_no_change_is_right(make: MakeAccount, aws: Aws) -> None:
    there = CloudFormation(aws, "UPDATE_COMPLETE")
    there.set_status = "FAILED"
    there.reason = "The submitted information didn't contain changes."
    assert [it.verdict for it in asked(make)] == [Verdict.OK]


def test_validation_is_refused_where_it_fails_and_said_where_it_warns(
    make: MakeAccount, aws: Aws
) -> None:
    there = CloudFormation(aws, None)
    there.set_status, there.reason = "FAILED", "AWS::EarlyValidation::ResourceExistenceCheck"
    there.events = [
        {
            "EventType": "VALIDATION_ERROR",
            "LogicalResourceId": "Topic",
            "ValidationName": "NAME_CONFLICT_VALIDATION",
            "ValidationStatusReason": "it exists",
            "ValidationPath": "/Resources/Topic/Properties/TopicName",
            "ValidationFailureMode": mode,
        }
        for mode in ("FAIL", "WARN")
    ] + [{"EventType": "STACK_EVENT"}]
    refused, said = asked(make)
    assert (refused.verdict, said.verdict) == (Verdict.REFUSED, Verdict.OK)
    assert refused.subject == "prod-text: Topic"
    assert refused.message == "NAME_CONFLICT_VALIDATION: it exists"
    assert refused.fix == "/Resources/Topic/Properties/TopicName"


def test_another_failure_is_refused_with_its_reason(make: MakeAccount, aws: Aws) -> None:
    there = CloudFormation(aws, None)
    there.set_status, there.reason = "FAILED", "Transform is not supported"
    (row,) = asked(make)
    assert (row.verdict, row.message) == (Verdict.REFUSED, "Transform is not supported")


def test_a_stack_that_cannot_be_changed_is_refused(make: MakeAccount, aws: Aws) -> None:
    there = CloudFormation(aws, "ROLLBACK_COMPLETE")
    there.refusal = error("ValidationError", "is in ROLLBACK_COMPLETE", "CreateChangeSet")
    (row,) = asked(make)
    assert (row.verdict, row.message) == (Verdict.REFUSED, "is in ROLLBACK_COMPLETE")


def test_who_may_not_ask_knows_nothing(make: MakeAccount, aws: Aws) -> None:
    there = CloudFormation(aws, None)
    there.refusal = denied("cloudformation:CreateChangeSet")
    (row,) = asked(make)
    assert row.verdict is Verdict.UNKNOWN
    assert (there.sets, there.status) == (set(), "DELETE_COMPLETE")


def test_events_that_may_not_be_read_leave_the_reason(make: MakeAccount, aws: Aws) -> None:
    there = CloudFormation(aws, None)
    there.set_status, there.reason = "FAILED", "AWS::EarlyValidation said no"
    aws.answers["cloudformation.DescribeEvents"] = denied("cloudformation:DescribeEvents")
    unread, refused = asked(make)
    assert unread.verdict is Verdict.UNKNOWN
    assert "cloudformation:DescribeEvents" in unread.message
    assert refused.message == "AWS::EarlyValidation said no"


def interrupt(aws: Aws, when: str) -> None:
    """Interrupt the first call of an operation, once it has done its work."""
    before: Any = aws.answers[f"cloudformation.{when}"]

    def interrupted(request: dict[str, Any]) -> dict[str, Any]:
        before(request)
        aws.answers[f"cloudformation.{when}"] = before
        raise KeyboardInterrupt

    aws.answers[f"cloudformation.{when}"] = interrupted


@pytest.mark.parametrize("when", ["CreateChangeSet", "DescribeChangeSet", "DescribeEvents"])
def test_an_interrupt_removes_what_was_made(make: MakeAccount, aws: Aws, when: str) -> None:
    there = CloudFormation(aws, None)
    interrupt(aws, when)
    with pytest.raises(KeyboardInterrupt):
        asked(make)
    assert (there.sets, there.status, there.deleted) == (set(), "DELETE_COMPLETE", ["prod-text"])


def test_a_change_set_is_removed_once_it_is_made(make: MakeAccount, aws: Aws) -> None:
    there = CloudFormation(aws, "UPDATE_COMPLETE")
    interrupt(aws, "DescribeChangeSet")
    with pytest.raises(KeyboardInterrupt):
        asked(make)
    calls = [name.partition(".")[2] for name, _ in aws.asked]
    assert calls[-2:] == ["DescribeChangeSet", "DeleteChangeSet"]
    assert there.sets == set()


def test_an_interrupt_goes_through_and_names_what_could_not_be_removed(
    make: MakeAccount, aws: Aws
) -> None:
    there = CloudFormation(aws, "UPDATE_COMPLETE")
    there.unremovable = 1
    interrupt(aws, "DescribeChangeSet")
    with pytest.raises(KeyboardInterrupt) as interrupted:
        asked(make)
    (name,) = there.sets
    (note,) = interrupted.value.__notes__
    assert note.startswith(f"change set {name} of prod-text remains: AWS answers DeleteChangeSet")
    assert note.endswith(f"delete-change-set --stack-name prod-text --change-set-name {name}")


def test_a_stack_that_cannot_be_removed_is_a_row_beside_what_was_found(
    make: MakeAccount, aws: Aws
) -> None:
    CloudFormation(aws, None)
    aws.answers["cloudformation.DeleteStack"] = denied("cloudformation:DeleteStack")
    found, left = asked(make)
    assert found.verdict is Verdict.OK
    assert left.verdict is Verdict.UNKNOWN
    assert "remains: not allowed to ask (cloudformation:DeleteStack)" in left.message
    assert left.fix == "aws cloudformation delete-stack --stack-name prod-text"


def test_imports_of_what_is_not_exported_depend_on_that_stack(make: MakeAccount, aws: Aws) -> None:
    there = CloudFormation(aws, None)
    imported = {"Name": {"Fn::ImportValue": "prod-network:Subnet"}}
    (row,) = asked(make, P=("AWS::SSM::Parameter", imported))
    assert row.verdict is Verdict.UNKNOWN
    assert row.message == "depends on prod-network, which is not deployed"
    assert there.made == []
    imported = {"Name": {"Fn::ImportValue": "prod-models:Bucket"}}
    assert [it.verdict for it in asked(make, P=("AWS::SSM::Parameter", imported))] == [Verdict.OK]
