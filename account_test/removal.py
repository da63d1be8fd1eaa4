"""Delete everything that a run created, found by names, tags and the state file."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from account_test.answers import AnswerRecorder
from account_test.names import ENDPOINT_STACK, FREE, MODELS_STACK, STAGE, TAG
from account_test.state import State
from account_test.waiting import wait, wait_for_stack
from release.delivery.endpoint_state import IDLE_STATUSES
from release.delivery.steps import say

STACKS = (ENDPOINT_STACK, MODELS_STACK)
"""In the order of their deletion: the first imports from the second."""
KEY_DAYS = 7
"""The least that KMS waits before it deletes a key (API reference, ScheduleKeyDeletion)."""
GONE = ("404", "NoSuchEntity", "NotFoundException", "ValidationError", "ValidationException")
"""Codes of S3, IAM, KMS, CloudFormation and SageMaker where there is no resource of a name."""
NAMED = {"stack": STACKS, "role": (FREE,)}
RETAINED = {"bucket": ("AWS::S3::Bucket", "s3", ":::"), "key": ("AWS::KMS::Key", "kms:key", "/")}
"""Kind -> what CloudFormation and tags call it, and what comes before the name in its ARN."""


class NotDeleted(Exception):
    """AWS has accepted a deletion, and the resource is still there: the reason."""


@dataclass(frozen=True)
class Removal:
    """Finds and deletes what runs have left."""

    recorder: AnswerRecorder
    state: State

    def find(self) -> dict[str, list[str]]:
        """Return kind -> names of what there is. Raises `ClientError`."""
        names = {kind: list(self._names(kind)) for kind in KINDS}
        return {kind: of_kind for kind, of_kind in names.items() if of_kind}

    def remove_all(self) -> list[str]:
        """Delete everything, one after the other; return what remains, each with the reason.

        What cannot be deleted hinders no other deletion.
        """
        remaining = []
        for kind, delete in KINDS.items():
            try:
                names = list(self._names(kind))
            except (BotoCoreError, ClientError) as error:
                remaining.append(f"{kind}: cannot be listed: {error}")
                continue
            for name in names:
                say(f"  deleting {kind} {name}")
                try:
                    delete(self, name)
                except (BotoCoreError, ClientError, NotDeleted) as error:
                    remaining.append(f"{kind} {name}: {error}")
        if not remaining:
            self.state.end()
        return remaining

    # What there is

    def _names(self, kind: str) -> Iterator[str]:
        match kind:
            case "stack" | "role":
                candidates: Iterable[str] = NAMED[kind]
            case "bucket" | "key":
                candidates = self._retained(kind)
            case "log group":
                groups = self._list("logs", "DescribeLogGroups", logGroupNamePattern=f"{STAGE}-")
                candidates = [group["logGroupName"] for group in groups]
            case _:
                member = kind.title().replace(" ", "")
                resources = self._list("sagemaker", f"List{member}s", NameContains=f"{STAGE}-")
                names = (resource[f"{member}Name"] for resource in resources)
                candidates = [name for name in names if name.startswith(STAGE)]
        for name in candidates:
            if kind not in DESCRIBE or self._described(kind, name):
                yield name

    def _described(self, kind: str, name: str) -> Any:
        """Return a description, nothing where AWS has deleted the resource, or will."""
        service, operation, member = DESCRIBE[kind]
        try:
            answer = self.recorder.pages(service, operation, **{member: name})
        except ClientError as error:
            if error.response["Error"]["Code"] not in GONE:
                raise
            return None
        return answer.get("KeyMetadata", {}).get("KeyState") != "PendingDeletion" and answer

    def _retained(self, kind: str) -> set[str]:
        """Return what stacks do not delete: by the stacks, the state file and the tag."""
        type_name, tagged_type, before_name = RETAINED[kind]
        for stack in STACKS:
            if self._described("stack", stack):
                resources = self._list("cloudformation", "ListStackResources", StackName=stack)
                of_kind = (each for each in resources if each["ResourceType"] == type_name)
                ids = (resource.get("PhysicalResourceId") for resource in of_kind)
                self.state.remember(kind, filter(None, ids))
        tags = {"TagFilters": [{"Key": TAG}], "ResourceTypeFilters": [tagged_type]}
        tagged = self._list("resourcegroupstaggingapi", "GetResources", **tags)
        names = {resource["ResourceARN"].rpartition(before_name)[2] for resource in tagged}
        return {*names, *self.state.content.get(kind, ())}

    def _list(self, service: str, operation: str, **request: Any) -> list[dict[str, Any]]:
        answer = self.recorder.pages(service, operation, **request)
        return next((items for items in answer.values() if isinstance(items, list)), [])

    # How each kind is deleted

    def _delete_stack(self, name: str) -> None:
        """Delete a stack that CloudFormation does not change. Raises `NotDeleted`.

        It "cannot be deleted while in status UPDATE_IN_PROGRESS" (aws/aws-toolkit-azure-devops
        #317), nor can an endpoint that is being created.
        """
        self._retained("bucket"), self._retained("key")
        cloudformation = self.recorder.client("cloudformation")
        wait_for_stack(cloudformation, name)
        cloudformation.delete_stack(StackName=name)
        wait_for_stack(cloudformation, name)
        if answer := self._described("stack", name):
            (stack,) = answer["Stacks"]
            raise NotDeleted(f"{stack['StackStatus']}: {stack.get('StackStatusReason', '')}")

    def _delete_endpoint(self, name: str) -> None:
        """Delete an endpoint that SageMaker does not change; return when it is gone."""

        def status(*settled: str) -> str | None:
            answer = self._described("endpoint", name)
            changing = answer and answer["EndpointStatus"] not in settled
            return answer["EndpointStatus"] if changing else None

        wait(name, lambda: status(*IDLE_STATUSES))
        self.recorder.client("sagemaker").delete_endpoint(EndpointName=name)
        wait(name, status)

    def _delete_role(self, name: str) -> None:
        iam = self.recorder.client("iam")
        for policy in iam.list_role_policies(RoleName=name)["PolicyNames"]:
            iam.delete_role_policy(RoleName=name, PolicyName=policy)
        iam.delete_role(RoleName=name)

    def _delete_bucket(self, name: str) -> None:
        """Delete a bucket with every version of every object."""
        s3: Any = self.recorder.session.resource("s3")
        s3.Bucket(name).object_versions.delete()
        s3.Bucket(name).delete()

    def _delete_key(self, name: str) -> None:
        kms = self.recorder.client("kms")
        kms.schedule_key_deletion(KeyId=name, PendingWindowInDays=KEY_DAYS)
        say(f"  KMS deletes the key in {KEY_DAYS} days")

    def _call(self, service: str, operation: str, **request: str) -> None:
        getattr(self.recorder.client(service), operation)(**request)


DESCRIBE = {
    "stack": ("cloudformation", "DescribeStacks", "StackName"),
    "endpoint": ("sagemaker", "DescribeEndpoint", "EndpointName"),
    "role": ("iam", "GetRole", "RoleName"),
    "bucket": ("s3", "HeadBucket", "Bucket"),
    "key": ("kms", "DescribeKey", "KeyId"),
}
KINDS: dict[str, Callable[[Removal, str], object]] = {
    "stack": Removal._delete_stack,
    "endpoint": Removal._delete_endpoint,
    "endpoint config": lambda removal, name: removal._call(
        "sagemaker", "delete_endpoint_config", EndpointConfigName=name
    ),
    "model": lambda removal, name: removal._call("sagemaker", "delete_model", ModelName=name),
    "role": Removal._delete_role,
    "bucket": Removal._delete_bucket,
    "key": Removal._delete_key,
    "log group": lambda removal, name: removal._call("logs", "delete_log_group", logGroupName=name),
}
"""How each kind is deleted, in this order: what costs goes first, what others use goes last."""
