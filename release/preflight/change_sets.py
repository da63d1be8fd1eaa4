"""What CloudFormation itself says of a deploy, before it: change sets that are made and removed."""

import json
import sys
import uuid
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError, WaiterError

from release.exports import exporter, imports
from release.preflight.account import Account
from release.preflight.answers import why
from release.preflight.clients import client
from release.preflight.findings import CheckFinding, Verdict, ok, refused, unknown
from release.stage_resources import resolve
from release.tree import has_transform

CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"]
NO_CHANGE = ("didn't contain changes", "No updates are to be performed")
NEWER_BOOTSTRAP = "cdk bootstrap: newer deploy roles may read the events of a change set"
REVIEW, DELETED = "REVIEW_IN_PROGRESS", "DELETE_COMPLETE"
WAIT = {"Delay": 3, "MaxAttempts": 200}


def check(account: Account) -> Iterator[CheckFinding]:
    """Make a change set of every stack; yield what CloudFormation's validation says of it.

    As the cdk CLI makes them: with the bootstrap's deploy role, and CloudFormation's execution role
    for what is to be done. Templates go to the bootstrap's bucket, nothing else of the assembly.
    """
    for stack, artifact in account.manifest.items():
        if artifact["type"] == "aws:cloudformation:stack":
            try:
                yield from _check_stack(account, stack, artifact["properties"])
            except (ClientError, BotoCoreError) as error:
                yield unknown(stack, why(error))


def _check_stack(account: Account, stack: str, properties: Any) -> Iterator[CheckFinding]:
    if has_transform(account.templates[stack]):
        message = "the template has a transform: CloudFormation would run it for the change set"
        yield refused(stack, message, "remove the transform")
        return
    if missing := _missing_exports(account, stack):
        yield unknown(stack, f"depends on {missing}, which is not deployed")
        return
    _upload_template(account, stack)
    session = _assumed(account, properties["assumeRoleArn"])
    yield from _validated(account, client(session, "cloudformation"), stack, properties)


def _validated(
    account: Account, cloudformation: Any, stack: str, properties: Any
) -> Iterator[CheckFinding]:
    """Make a change set, read its validation, and remove it, also when that is interrupted."""
    before = _status(cloudformation, stack)
    is_new = before in (None, DELETED)
    name = f"preflight-{uuid.uuid4().hex[:12]}"
    try:
        change_set = cloudformation.create_change_set(
            StackName=stack,
            ChangeSetName=name,
            ChangeSetType="CREATE" if is_new or before == REVIEW else "UPDATE",
            TemplateURL=_template_url(account, properties),
            RoleARN=_text(account, properties["cloudFormationExecutionRoleArn"]),
            Capabilities=CAPABILITIES,
        )["Id"]
        findings = list(_findings(cloudformation, stack, change_set))
    except ClientError as error:
        code, message = error.response["Error"]["Code"], error.response["Error"]["Message"]
        if (error.operation_name, code) != ("CreateChangeSet", "ValidationError"):
            raise
        findings = [refused(stack, message, "bring the stack into a state that can change")]
    finally:
        remains = _removed(cloudformation, stack, name, is_new=is_new)
        if ending := sys.exception():
            for finding in remains:
                ending.add_note(f"{finding.subject} {finding.message}: {finding.fix}")
    yield from findings or [ok(stack, "CloudFormation would do it")]
    yield from remains


def _findings(cloudformation: Any, stack: str, change_set: str) -> Iterator[CheckFinding]:
    reason = _reason(cloudformation, change_set)
    is_refused = False
    try:
        for finding in _validation(cloudformation, stack, change_set):
            is_refused = is_refused or finding.verdict is Verdict.REFUSED
            yield finding
    except ClientError as error:
        yield unknown(f"{stack}: validation", why(error), NEWER_BOOTSTRAP)
    if reason and not is_refused and not any(text in reason for text in NO_CHANGE):
        yield refused(stack, reason, "correct the template")


def _reason(cloudformation: Any, change_set: str) -> str:
    """Return why a change set could not be made, nothing where it is there."""
    try:
        cloudformation.get_waiter("change_set_create_complete").wait(
            ChangeSetName=change_set, WaiterConfig=WAIT
        )
    except WaiterError as error:
        return str(error.last_response.get("StatusReason", error))
    return ""


def _validation(cloudformation: Any, stack: str, change_set: str) -> Iterator[CheckFinding]:
    """Yield each failed validation: refused in mode FAIL, told in mode WARN.

    Source: CloudFormation user guide, validate-stack-deployments: property syntax, name conflicts,
    emptiness of buckets, service quotas; DescribeEvents has them by change set.
    """
    pages = cloudformation.get_paginator("describe_events").paginate(
        ChangeSetName=change_set, Filters={"FailedEvents": True}
    )
    for event in (event for page in pages for event in page["OperationEvents"]):
        if event.get("EventType") == "VALIDATION_ERROR":
            subject = f"{stack}: {event.get('LogicalResourceId', '')}".removesuffix(": ")
            reason = event.get("ValidationStatusReason", "")
            verdict = ok if event.get("ValidationFailureMode") == "WARN" else refused
            fix = event.get("ValidationPath", "")
            yield verdict(subject, f"{event.get('ValidationName', '')}: {reason}", fix)


def _removed(
    cloudformation: Any, stack: str, change_set: str, *, is_new: bool
) -> list[CheckFinding]:
    """Remove a change set, and the stack under review that it brought; return what remains.

    CloudFormation deletes no change set that it is making (DeleteChangeSet), so that it is waited
    for; with a stack go its change sets. A stack that was under review before stays.
    """
    command = f"aws cloudformation delete-change-set --stack-name {stack} "
    command += f"--change-set-name {change_set}"
    try:
        if not is_new:
            with suppress(WaiterError):  # it has failed, or there is none
                cloudformation.get_waiter("change_set_create_complete").wait(
                    StackName=stack, ChangeSetName=change_set, WaiterConfig=WAIT
                )
            cloudformation.delete_change_set(StackName=stack, ChangeSetName=change_set)
        elif _status(cloudformation, stack) == REVIEW:
            command = f"aws cloudformation delete-stack --stack-name {stack}"
            cloudformation.delete_stack(StackName=stack)
            cloudformation.get_waiter("stack_delete_complete").wait(
                StackName=stack, WaiterConfig=WAIT
            )
    except (ClientError, BotoCoreError) as error:
        return [unknown(f"change set {change_set} of {stack}", f"remains: {why(error)}", command)]
    return []


def _status(cloudformation: Any, stack: str) -> str | None:
    try:
        (description,) = cloudformation.describe_stacks(StackName=stack)["Stacks"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationError":  # there is none
            raise
        return None
    return str(description["StackStatus"])


def _missing_exports(account: Account, stack: str) -> str | None:
    """Return a stack that this one imports from and that is not deployed as it will be.

    CloudFormation makes no change set with an import of what is not exported.
    """
    needed = {name for name in imports(account.templates[stack]) if exporter(name) != stack}
    if not needed:
        return None
    pages = account.client("cloudformation").get_paginator("list_exports").paginate()
    exported = {export["Name"] for page in pages for export in page["Exports"]}
    return next((exporter(name) for name in sorted(needed - exported)), None)


def _template_url(account: Account, properties: Any) -> str:
    """Return where the template is, as CreateChangeSet takes it: HTTPS, not s3://."""
    uri = _text(account, properties["stackTemplateAssetObjectUrl"])
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    suffix = account.pseudo_parameters["AWS::URLSuffix"]
    return f"https://s3.{account.region}.{suffix}/{bucket}/{key}"


def _upload_template(account: Account, stack: str) -> None:
    """Upload a stack's template to where its assets' manifest says, as a deploy would."""
    manifest = json.loads((account.assembly / f"{stack}.assets.json").read_text(encoding="utf-8"))
    template = f"{stack}.template.json"
    for asset in manifest["files"].values():
        for place in asset["destinations"].values() if asset["source"]["path"] == template else ():
            s3: Any = client(_assumed(account, place["assumeRoleArn"]), "s3")
            s3.put_object(
                Bucket=_text(account, place["bucketName"]),
                Key=place["objectKey"],
                Body=(account.assembly / template).read_bytes(),
            )


def _assumed(account: Account, role: str) -> boto3.Session:
    """Return a session of a role of `cdk bootstrap`."""
    credentials = account.client("sts").assume_role(
        RoleArn=_text(account, role), RoleSessionName="preflight"
    )["Credentials"]
    return boto3.Session(
        aws_access_key_id=credentials["AccessKeyId"],
        aws_secret_access_key=credentials["SecretAccessKey"],
        aws_session_token=credentials["SessionToken"],
        region_name=account.region,
    )


def _text(account: Account, text: str) -> str:
    return resolve({"Fn::Sub": text}, account.pseudo_parameters)
