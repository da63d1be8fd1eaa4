"""Calls recorded by a local SageMaker, compared with the permissions ledger."""

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from delivery.permissions import NAMED_RESOURCES, Principal, principals
from local_sagemaker import ACCOUNT, REGION
from tests.permission_names import Place, by_name, filled

WITHOUT_PERMISSION = "sts:GetCallerIdentity"
"""STS API reference: "No permissions are required to perform this operation"."""

STACK_ROLE_SUFFIX = re.compile(r"[A-Za-z0-9][0-9A-F]{8}(-|$)")
"""Hash in the names of roles that CloudFormation creates for the CDK."""
LOG_GROUPS = {
    name: f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:*/{named.logical_id}*"
    for name, named in NAMED_RESOURCES.items()
    if ":logs:" in named.arn
}
"""ARN patterns of log groups that CloudFormation names: ministack generates other names."""
STAGE_BUCKET = "arn:aws:s3:::*-models-modelsbucket*"


class Call(NamedTuple):
    """A recorded call: an IAM action on the ARN of a resource, or on `*`."""

    caller: str
    action: str
    resource: str


def recorded_calls(file: Path) -> list[Call]:
    """Return the recorded calls without duplicates, in order of the first occurrence."""
    lines = file.read_text().splitlines() if file.exists() else []
    return [Call(**json.loads(line)) for line in lines]


def unlisted_calls(file: Path) -> Iterator[str]:
    """Yield a message for each recorded call that the ledger does not list.

    Callers other than principals of the ledger and roles of the app's stacks are ignored.
    """
    for call in recorded_calls(file):
        principal = principal_of(call)
        if principal is None:
            if STACK_ROLE_SUFFIX.search(call.caller):
                yield f"{call.caller} is in no file of the ledger: {call.action} on {call.resource}"
        elif (
            call.action != WITHOUT_PERMISSION
            and not _reads_test_bucket(principal, call)
            and not _is_listed(principal, call)
        ):
            yield f"{principal.name} called {call.action} on {call.resource}"


def principal_names(file: Path) -> set[str]:
    """Return the names of the principals of all recorded calls."""
    return {principal.name for call in recorded_calls(file) if (principal := principal_of(call))}


def principal_of(call: Call) -> Principal | None:
    """Return the principal that made a call, or None.

    The caller's name is the name of the principal or of a role that CloudFormation created for it.
    """
    name = call.caller.rpartition("/")[2]
    for principal in principals():
        patterns = [
            rf".+-{role.stack}-{role.logical_id}[0-9A-F]{{8}}.*" for role in principal.roles
        ]
        if name == principal.name or any(re.fullmatch(pattern, name) for pattern in patterns):
            return principal
    return None


def _reads_test_bucket(principal: Principal, call: Call) -> bool:
    """Return whether an endpoint reads a bucket that a test created, not a stage."""
    return principal.name == "endpoint" and not fnmatchcase(call.resource, STAGE_BUCKET)


def _is_listed(principal: Principal, call: Call) -> bool:
    names = by_name(Place(region=REGION, account=ACCOUNT, stage="*")) | LOG_GROUPS
    return any(
        any(fnmatchcase(call.action, action) for action in row.actions)
        and any(
            fnmatchcase(call.resource, filled(resource, names) or "") for resource in row.resources
        )
        for row in principal.rows
    )
