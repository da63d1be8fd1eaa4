"""Deletion of all resources of a run, which have known names, tags, or are in the state file."""

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
"""Stacks in the order of deletion: the first imports from the second."""
KEY_DELETION_DAYS = 7
"""Minimum waiting period before KMS deletes a key (API reference, ScheduleKeyDeletion)."""
NOT_FOUND = ("404", "NoSuchEntity", "NotFoundException", "ValidationError", "ValidationException")
"""Error codes of S3, IAM, KMS, CloudFormation and SageMaker for a missing resource."""
RETAINED_TYPES = {
    "bucket": ("AWS::S3::Bucket", "s3", ":::"),
    "key": ("AWS::KMS::Key", "kms:key", "/"),
}
"""Kind -> CloudFormation type, type in the tagging API, separator before the name in an ARN."""


class NotDeleted(Exception):
    """AWS accepted a deletion but did not delete the resource; the message is the reason."""


@dataclass(frozen=True)
class Removal:
    """Finder and remover of the resources of runs."""

    recorder: AnswerRecorder
    state: State

    def find(self) -> dict[str, list[str]]:
        """Return kind -> names of existing resources. Raise `ClientError`."""
        names = {kind: list(self._names(kind)) for kind in KINDS}
        return {kind: existing for kind, existing in names.items() if existing}

    def remove_all(self) -> list[str]:
        """Delete all resources; return the remaining ones, each with the reason.

        A failed deletion does not stop the others.
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

    # Existing resources

    def _names(self, kind: str) -> Iterator[str]:
        match kind:
            case "stack":
                candidates: Iterable[str] = STACKS
            case "role":
                candidates = (FREE,)
            case "bucket" | "key":
                candidates = self._retained_names(kind)
            case "log group":
                groups = self._list("logs", "DescribeLogGroups", logGroupNamePattern=f"{STAGE}-")
                candidates = [group["logGroupName"] for group in groups]
            case _:
                member = kind.title().replace(" ", "")
                resources = self._list("sagemaker", f"List{member}s", NameContains=f"{STAGE}-")
                names = (resource[f"{member}Name"] for resource in resources)
                candidates = [name for name in names if name.startswith(STAGE)]
        for name in candidates:
            if kind not in DESCRIBE_OPERATIONS or self._describe(kind, name):
                yield name

    def _describe(self, kind: str, name: str) -> Any:
        """Return a description, or a false value if the resource or key is deleted."""
        service, operation, member = DESCRIBE_OPERATIONS[kind]
        try:
            answer = self.recorder.pages(service, operation, **{member: name})
        except ClientError as error:
            if error.response["Error"]["Code"] not in NOT_FOUND:
                raise
            return None
        return answer.get("KeyMetadata", {}).get("KeyState") != "PendingDeletion" and answer

    def _retained_names(self, kind: str) -> set[str]:
        """Return the names of retained resources, from stacks, state file and tag."""
        type_name, tagged_type, separator = RETAINED_TYPES[kind]
        for stack in STACKS:
            if self._describe("stack", stack):
                resources = self._list("cloudformation", "ListStackResources", StackName=stack)
                ids = (
                    resource.get("PhysicalResourceId")
                    for resource in resources
                    if resource["ResourceType"] == type_name
                )
                self.state.add_resources(kind, filter(None, ids))
        tags = {"TagFilters": [{"Key": TAG}], "ResourceTypeFilters": [tagged_type]}
        tagged = self._list("resourcegroupstaggingapi", "GetResources", **tags)
        names = {resource["ResourceARN"].rpartition(separator)[2] for resource in tagged}
        return {*names, *self.state.content.get(kind, ())}

    def _list(self, service: str, operation: str, **request: Any) -> list[dict[str, Any]]:
        answer = self.recorder.pages(service, operation, **request)
        return next((items for items in answer.values() if isinstance(items, list)), [])

    # Deletion by kind

    def _delete_stack(self, name: str) -> None:
        """Wait until no operation is in progress, then delete a stack. Raise `NotDeleted`.

        A stack "cannot be deleted while in status UPDATE_IN_PROGRESS" (aws/aws-toolkit-azure-devops
        #317), nor can an endpoint that is being created.
        """
        for kind in RETAINED_TYPES:
            self._retained_names(kind)  # saves the names in the state file
        cloudformation = self.recorder.client("cloudformation")
        wait_for_stack(cloudformation, name)
        cloudformation.delete_stack(StackName=name)
        wait_for_stack(cloudformation, name)
        if answer := self._describe("stack", name):
            (stack,) = answer["Stacks"]
            raise NotDeleted(f"{stack['StackStatus']}: {stack.get('StackStatusReason', '')}")

    def _delete_endpoint(self, name: str) -> None:
        """Wait until no operation is in progress, then delete an endpoint and wait for the end."""

        def status_except(*expected: str) -> str | None:
            endpoint = self._describe("endpoint", name)
            is_expected = not endpoint or endpoint["EndpointStatus"] in expected
            return None if is_expected else endpoint["EndpointStatus"]

        wait(name, lambda: status_except(*IDLE_STATUSES))
        self.recorder.client("sagemaker").delete_endpoint(EndpointName=name)
        wait(name, status_except)

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
        kms.schedule_key_deletion(KeyId=name, PendingWindowInDays=KEY_DELETION_DAYS)
        say(f"  KMS deletes the key in {KEY_DELETION_DAYS} days")

    def _call(self, service: str, operation: str, **request: str) -> None:
        getattr(self.recorder.client(service), operation)(**request)


DESCRIBE_OPERATIONS = {
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
"""Kind -> deletion, in this order: resources with charges first, resources that others use last."""
