"""What was called on a local SageMaker, compared with the ledger of permissions."""

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from local_sagemaker import ACCOUNT, REGION
from release.permissions import NAMED, Principal, principals
from tests.permission_names import Place, by_name, filled

FREE = "sts:GetCallerIdentity"
"""STS API reference: "No permissions are required to perform this operation"."""

OF_A_STACK = re.compile(r"[A-Za-z0-9][0-9A-F]{8}(-|$)")
"""How the names of roles go on that CloudFormation makes for the CDK."""
LOGS = {
    name: f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:*/{each.resource}*"
    for name, each in NAMED.items()
    if ":logs:" in each.arn
}
"""What ministack calls groups without a name, which CloudFormation does otherwise."""


class Call(NamedTuple):
    """A recorded call: an action of IAM on the ARN of a resource, or on `*`, by a caller."""

    caller: str
    action: str
    resource: str


def called(file: Path) -> list[Call]:
    """Return the recorded calls, in the order in which each was first made."""
    lines = file.read_text().splitlines() if file.exists() else []
    return [Call(**json.loads(line)) for line in lines]


def beyond_the_ledger(file: Path) -> Iterator[str]:
    """Yield what was called, and no row of the caller's has; roles that a test made are its own."""
    for call in called(file):
        principal = caller(call)
        if principal is None:
            if OF_A_STACK.search(call.caller):
                yield f"{call.caller} is in no file of the ledger: {call.action} on {call.resource}"
        elif call.action != FREE and not _of_a_test(principal, call) and not _has(principal, call):
            yield f"{principal.name} called {call.action} on {call.resource}"


def callers(file: Path) -> set[str]:
    """Return the names of those who called."""
    return {each.name for call in called(file) if (each := caller(call))}


def caller(call: Call) -> Principal | None:
    """Return who called: by a role's name, which CloudFormation made, or by the one given."""
    name = call.caller.rpartition("/")[2]
    for principal in principals():
        made = [rf".+-{role.stack}-{role.resource}[0-9A-F]{{8}}.*" for role in principal.roles]
        if name == principal.name or any(re.fullmatch(each, name) for each in made):
            return principal
    return None


def _of_a_test(principal: Principal, call: Call) -> bool:
    """Whether an endpoint loads from a bucket that a test made: all are recorded by one name."""
    of_a_stage = "arn:aws:s3:::*-models-modelsbucket*"
    return principal.name == "endpoint" and not fnmatchcase(call.resource, of_a_stage)


def _has(principal: Principal, call: Call) -> bool:
    names = by_name(Place(region=REGION, account=ACCOUNT, stage="*")) | LOGS
    return any(
        any(fnmatchcase(call.action, action) for action in row.actions)
        and any(
            fnmatchcase(call.resource, filled(resource, names) or "") for resource in row.resources
        )
        for row in principal.rows
    )
