"""Whether the caller may do what a delivery does."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from release.permissions import ledger
from release.permissions.names import Names, Place, by_name, filled, filled_condition
from release.preflight.account import Account
from release.preflight.findings import CheckFinding, ok, refused, unknown

DELIVERY = "delivery"
"""The ledger's principal whose permissions a caller needs."""
NEEDED_ROLES = re.compile(r":role/cdk-\w+-(deploy|file-publishing)-role-")
"""The roles without which the cdk CLI deploys nothing. Where it may not assume the lookup role, it
says "Proceeding with default credentials" (aws-cdk/lib/index.js)."""


class Denial(NamedTuple):
    """What IAM's simulation does not allow; `doubt` is why a call may be allowed all the same."""

    action: str
    resource: str
    doubt: str


def check(account: Account) -> Iterator[CheckFinding]:
    """Simulate every row of the ledger that a delivery needs.

    SimulatePrincipalPolicy asks about policies of identities: that a role trusts the account is the
    decision of `cdk bootstrap`, and policies of buckets and keys are not looked at. It "evaluates
    ... service control policies (SCPs) including their condition keys and resource scoping, and the
    inputs that you provide"; MissingContextValues names the keys of the identity's policies that
    were not provided, and "doesn't include context keys referenced by" SCPs (botocore 1.43's model
    of iam, service-2). So only a denial that lacks no key and is not an organization's is sure, and
    only one of the bootstrap's roles that a deploy assumes is refused: the other steps may not
    happen in this deploy, and a resource whose whole name CloudFormation chooses is asked for by a
    pattern, which a policy may be narrower than.
    """
    if account.caller.arn.endswith(":root"):
        yield ok("caller", "the account's root user: no policy limits it")
        return
    source = _source(account)
    names = by_name(
        Place(
            partition=account.caller.partition,
            suffix=account.pseudo_parameters["AWS::URLSuffix"],
            region=account.region,
            account=account.caller.account,
            stage=account.stage,
        )
    )
    is_allowed = True
    (delivery,) = (each for each in ledger.principals() if each.name == DELIVERY)
    for row in delivery.rows:
        for denial in _simulate(account, source, row, names) if row.when is None else ():
            is_allowed = False
            is_certain = not denial.doubt and NEEDED_ROLES.search(denial.resource)
            yield (refused if is_certain else unknown)(
                f"{denial.action} on {denial.resource}",
                f"IAM does not allow it{denial.doubt}: {row.step}",
                f"allow it to {account.caller.arn}",
            )
    if is_allowed:
        yield ok("caller", "may do what a delivery does")


def _simulate(account: Account, source: str, row: ledger.Row, names: Names) -> Iterator[Denial]:
    """Yield what IAM denies of a row."""
    pages = (
        account.client("iam")
        .get_paginator("simulate_principal_policy")
        .paginate(
            PolicySourceArn=source,
            ActionNames=list(row.actions),
            ResourceArns=[arn for arn in (filled(text, names) for text in row.resources) if arn],
            ContextEntries=_context(filled_condition(row.condition, names)),
        )
    )
    for page in pages:
        for result in page["EvaluationResults"]:
            yield from _denials(result)


def _denials(result: dict[str, Any]) -> Iterator[Denial]:
    """Yield what one action is denied on.

    EvalResourceName at the top is "the ARN template for the simulated resource type ... To find the
    decision for a specific resource, use ResourceSpecificResults" (botocore's model of iam).
    """
    own = {
        "EvalResourceName": result["EvalResourceName"],
        "EvalResourceDecision": result["EvalDecision"],
        "MissingContextValues": result.get("MissingContextValues", ()),
    }
    by_organization = not result.get("OrganizationsDecisionDetail", {}).get(
        "AllowedByOrganizations", True
    )
    for decision in result.get("ResourceSpecificResults") or [own]:
        if decision["EvalResourceDecision"] != "allowed":
            doubt = ""
            if missing := decision.get("MissingContextValues"):
                doubt = f", without knowing {', '.join(missing)}"
            elif by_organization:
                doubt = ", by a policy of the organization, whose conditions it does not tell"
            yield Denial(result["EvalActionName"], decision["EvalResourceName"], doubt)


def _context(condition: Mapping[str, Mapping[str, list[str]]]) -> list[dict[str, Any]]:
    """Return the keys of a condition as a call has them that fulfils it."""
    return [
        {"ContextKeyName": key, "ContextKeyValues": values[:1], "ContextKeyType": "string"}
        for keys in condition.values()
        for key, values in keys.items()
    ]


def _source(account: Account) -> str:
    """Return the ARN of the caller's role or user: a session of a role has no policies itself."""
    kind, _, name = account.caller.arn.split(":", 5)[5].partition("/")
    if kind != "assumed-role":
        return account.caller.arn
    role = account.client("iam").get_role(RoleName=name.split("/")[0])
    return str(role["Role"]["Arn"])
