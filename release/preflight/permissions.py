"""Whether the caller may do what a delivery does."""

from collections.abc import Iterator, Mapping
from typing import Any

from release.permissions import ledger
from release.permissions.names import Place, by_name, filled, filled_condition
from release.preflight.account import Account
from release.preflight.rows import Row, Topic

TOPIC = Topic("permissions")
DELIVERY = "delivery"
"""The ledger's principal whose permissions a caller needs."""


def ask(account: Account) -> Iterator[Row]:
    """Simulate every row of the ledger that a delivery needs.

    SimulatePrincipalPolicy asks about policies of identities: that a role trusts the account is the
    decision of `cdk bootstrap`, and policies of buckets and keys are not looked at. It does not
    know service control policies of an organization that have conditions (API reference). So
    nothing but the bootstrap's roles is refused: a resource whose whole name CloudFormation chooses
    is asked for by a pattern, and a policy may be narrower than that.
    """
    if account.caller.arn.endswith(":root"):
        yield TOPIC.ok("caller", "the account's root user: no policy limits it")
        return
    source = _source(account)
    denied = False
    for row in _rows():
        for action, resource in _denied(account, source, row):
            denied = True
            tell = TOPIC.unknown if "*" in resource else TOPIC.refused
            yield tell(
                f"{action} on {resource}",
                f"IAM does not allow it: {row.step}",
                f"allow it to {account.caller.arn}",
            )
    if not denied:
        yield TOPIC.ok("caller", "may do what a delivery does")


def _rows() -> Iterator[ledger.Row]:
    """Yield what every delivery needs."""
    (found,) = (it for it in ledger.principals() if it.name == DELIVERY)
    return (it for it in found.rows if it.when is None)


def _denied(account: Account, source: str, row: ledger.Row) -> Iterator[tuple[str, str]]:
    """Yield the actions of a row that IAM denies, and on what."""
    suffix = account.pseudo_parameters["AWS::URLSuffix"]
    names = by_name(
        Place(
            partition=account.caller.partition,
            suffix=suffix,
            region=account.region,
            account=account.caller.account,
            stage=account.stage,
        )
    )
    answer = (
        account.client("iam")
        .get_paginator("simulate_principal_policy")
        .paginate(
            PolicySourceArn=source,
            ActionNames=list(row.actions),
            ResourceArns=[it for it in (filled(it, names) for it in row.resources) if it],
            ContextEntries=_context(filled_condition(row.condition, names)),
        )
        .build_full_result()
    )
    for it in answer["EvaluationResults"]:
        if it["EvalDecision"] != "allowed":
            yield it["EvalActionName"], it["EvalResourceName"]


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
