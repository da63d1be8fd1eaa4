"""What CloudFormation itself says of a deploy, before it: change sets that are made and removed."""

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError, WaiterError

from release.exports import exporter, imports
from release.preflight.account import Account
from release.preflight.asking import depends_on, why
from release.preflight.clients import client
from release.preflight.removing import Made
from release.preflight.rows import Row, Topic, Verdict
from release.tree import has_transform

TOPIC = Topic("change sets")
CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"]
NO_CHANGE = ("didn't contain changes", "No updates are to be performed")
NEWER_BOOTSTRAP = "cdk bootstrap: newer deploy roles may read the events of a change set"

REVIEW, GONE = "REVIEW_IN_PROGRESS", "DELETE_COMPLETE"

NOT_YET = "InvalidChangeSetStatus"
"""DeleteChangeSet's answer where "the change set status might be CREATE_IN_PROGRESS" (its API
reference)."""
POLL_SECONDS, POLLS = 3, 40
"""How often and how many times the removal of such a one is tried: our choice."""


def ask(account: Account) -> Iterator[Row]:
    """Make a change set of every stack; yield what CloudFormation's validation says of it.

    As the cdk CLI makes them: with the bootstrap's deploy role, and CloudFormation's execution role
    for what is to be done. Templates go to the bootstrap's bucket, nothing else of the assembly.
    """
    for stack, artifact in account.manifest.items():
        if artifact["type"] == "aws:cloudformation:stack":
            left: list[Row] = []
            try:
                yield from _of_stack(account, stack, artifact["properties"], left)
            except ClientError as error:
                yield _unmade(stack, error)
            except BotoCoreError as error:
                yield TOPIC.unknown(stack, why(error))
            yield from left


def _unmade(stack: str, error: ClientError) -> Row:
    """Return the row where CloudFormation did not even make the change set, or was not asked."""
    told = error.response["Error"]
    if (error.operation_name, told["Code"]) == ("CreateChangeSet", "ValidationError"):
        return TOPIC.refused(stack, told["Message"], "bring the stack into a state that can change")
    return TOPIC.unknown(stack, why(error))


def _of_stack(account: Account, stack: str, properties: Any, left: list[Row]) -> Iterator[Row]:
    if has_transform(account.templates[stack]):
        said = "the template has a transform: CloudFormation would run it for the change set"
        yield TOPIC.refused(stack, said, "remove the transform")
        return
    missing = _missing_exports(account, stack)
    if missing:
        yield TOPIC.unknown(stack, depends_on(missing))
        return
    _upload_template(account, stack)
    cloudformation = client(_assumed(account, properties["assumeRoleArn"]), "cloudformation")
    with _change_set(account, cloudformation, stack, properties, left) as (made, reason):
        try:
            found = [*_validation(stack, cloudformation, made)]
        except ClientError as error:
            found = [TOPIC.unknown(f"{stack}: validation", why(error), NEWER_BOOTSTRAP)]
        failed = reason and not any(it in reason for it in NO_CHANGE)
        if failed and not any(it.verdict is Verdict.REFUSED for it in found):
            found.append(TOPIC.refused(stack, reason, "correct the template"))
    yield from found or [TOPIC.ok(stack, "CloudFormation would do it")]


@contextmanager
def _change_set(
    account: Account, cloudformation: Any, stack: str, properties: Any, left: list[Row]
) -> Iterator[tuple[str, str]]:
    """Make a change set; give its ARN and, where it failed, the reason.

    It is removed at the end of the `with` block, also when that is interrupted, and with it the
    stack under review that one of a new stack brings. A stack that was under review before, which
    somebody else's change set has made, stays. What cannot be removed is added to `left`.
    """
    found = _described(cloudformation, stack)
    brings = found is None or found["StackStatus"] == GONE
    new = brings or found["StackStatus"] == REVIEW
    name = f"preflight-{uuid.uuid4().hex[:12]}"
    with Made(TOPIC, left) as made:
        made.remove(
            f"change set {name} of {stack}",
            f"aws cloudformation delete-stack --stack-name {stack}"
            if brings
            else f"aws cloudformation delete-change-set --stack-name {stack} "
            f"--change-set-name {name}",
            partial(_remove, cloudformation, stack, name, stack_too=brings),
        )
        answer = cloudformation.create_change_set(
            StackName=stack,
            ChangeSetName=name,
            ChangeSetType="CREATE" if new else "UPDATE",
            TemplateURL=_template_url(account, properties),
            RoleARN=account.text({"Fn::Sub": properties["cloudFormationExecutionRoleArn"]}),
            Capabilities=CAPABILITIES,
        )
        yield answer["Id"], _reason(cloudformation, answer["Id"])


def _reason(cloudformation: Any, change_set: str) -> str:
    try:
        cloudformation.get_waiter("change_set_create_complete").wait(
            ChangeSetName=change_set, WaiterConfig={"Delay": 3, "MaxAttempts": 200}
        )
    except WaiterError as error:
        return str(error.last_response.get("StatusReason", error))
    return ""


def _validation(stack: str, cloudformation: Any, change_set: str) -> Iterator[Row]:
    """Yield a row for each failed validation: refused in mode FAIL, said in mode WARN.

    Source: CloudFormation user guide, validate-stack-deployments: property syntax, name conflicts,
    emptiness of buckets, service quotas; DescribeEvents has them by change set.
    """
    pages = cloudformation.get_paginator("describe_events").paginate(
        ChangeSetName=change_set, Filters={"FailedEvents": True}
    )
    for page in pages:
        for it in page["OperationEvents"]:
            if it.get("EventType") == "VALIDATION_ERROR":
                subject = f"{stack}: {it.get('LogicalResourceId', '')}".removesuffix(": ")
                said = f"{it.get('ValidationName', '')}: {it.get('ValidationStatusReason', '')}"
                if it.get("ValidationFailureMode") == "WARN":
                    yield TOPIC.ok(subject, said, it.get("ValidationPath", ""))
                else:
                    yield TOPIC.refused(subject, said, it.get("ValidationPath", "") or "correct it")


def _remove(cloudformation: Any, stack: str, change_set: str, *, stack_too: bool) -> None:
    """Remove a change set, and the stack under review that it brought.

    The stack goes also where the change set would not: a change set is nothing without its stack.
    """
    brought = _under_review(cloudformation, stack) if stack_too else None
    try:
        _remove_change_set(cloudformation, stack, change_set)
    except ClientError:
        if brought is None:
            raise
    if brought is not None:
        cloudformation.delete_stack(StackName=brought)
        cloudformation.get_waiter("stack_delete_complete").wait(
            StackName=brought, WaiterConfig={"Delay": 2, "MaxAttempts": 150}
        )


def _remove_change_set(cloudformation: Any, stack: str, change_set: str) -> None:
    """Remove a change set as soon as CloudFormation has made it."""
    for polls in range(1, POLLS + 1):
        try:
            cloudformation.delete_change_set(StackName=stack, ChangeSetName=change_set)
        except ClientError as error:
            code = error.response["Error"]["Code"]
            # There is none where making it was refused.
            if code in ("ChangeSetNotFound", "ValidationError"):
                return
            if code != NOT_YET or polls == POLLS:
                raise
            time.sleep(POLL_SECONDS)
        else:
            return


def _under_review(cloudformation: Any, stack: str) -> str | None:
    """Return the ARN of a stack that has nothing but change sets."""
    found = _described(cloudformation, stack)
    return str(found["StackId"]) if found and found["StackStatus"] == REVIEW else None


def _described(cloudformation: Any, stack: str) -> Any:
    """Return what CloudFormation says of a stack, None where there is none."""
    try:
        (found,) = cloudformation.describe_stacks(StackName=stack)["Stacks"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationError":
            raise
        return None
    return found


def _missing_exports(account: Account, stack: str) -> str | None:
    """Return a stack that this one imports from and that is not deployed as it will be.

    CloudFormation makes no change set with an import of what is not exported.
    """
    wanted = {it for it in imports(account.templates[stack]) if exporter(it) != stack}
    if not wanted:
        return None
    pages = account.client("cloudformation").get_paginator("list_exports").paginate()
    there = {it["Name"] for page in pages for it in page["Exports"]}
    return next((exporter(it) for it in sorted(wanted - there)), None)


def _template_url(account: Account, properties: Any) -> str:
    """Return where the template is, as CreateChangeSet wants it: HTTPS, not s3://."""
    uri = account.text({"Fn::Sub": properties["stackTemplateAssetObjectUrl"]})
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    suffix = account.pseudo_parameters["AWS::URLSuffix"]
    return f"https://s3.{account.region}.{suffix}/{bucket}/{key}"


def _upload_template(account: Account, stack: str) -> None:
    """Put a stack's template where its assets' manifest says, as a deploy would."""
    manifest = json.loads((account.assembly / f"{stack}.assets.json").read_text(encoding="utf-8"))
    for asset in manifest["files"].values():
        path = asset["source"]["path"]
        if path == f"{stack}.template.json":
            for place in asset["destinations"].values():
                _put(account, place, account.assembly / path)


def _put(account: Account, place: Any, path: Path) -> None:
    s3: Any = client(_assumed(account, place["assumeRoleArn"]), "s3")
    bucket = account.text({"Fn::Sub": place["bucketName"]})
    s3.put_object(Bucket=bucket, Key=place["objectKey"], Body=path.read_bytes())


def _assumed(account: Account, role: str) -> boto3.Session:
    """Return a session of a role of `cdk bootstrap`."""
    credentials = account.client("sts").assume_role(
        RoleArn=account.text({"Fn::Sub": role}), RoleSessionName="preflight"
    )["Credentials"]
    return boto3.Session(
        aws_access_key_id=credentials["AccessKeyId"],
        aws_secret_access_key=credentials["SecretAccessKey"],
        aws_session_token=credentials["SessionToken"],
        region_name=account.region,
    )
