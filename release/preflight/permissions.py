"""Whether the caller may assume the roles that a deploy needs."""

from collections.abc import Iterator

from release.preflight.account import Account
from release.preflight.rows import Row, Topic

TOPIC = Topic("roles")


def ask(account: Account) -> Iterator[Row]:
    """Simulate `sts:AssumeRole` of every role of `cdk bootstrap` that the assembly names.

    SimulatePrincipalPolicy asks about policies of identities; that a role trusts the account is
    the decision of `cdk bootstrap`. It does not know service control policies of an organization
    that have conditions (API reference).
    """
    arn = account.caller.arn
    if arn.endswith(":root"):
        yield TOPIC.ok("cdk bootstrap's", "the account's root user: no policy limits it")
        return
    iam = account.client("iam")
    answer = (
        iam.get_paginator("simulate_principal_policy")
        .paginate(
            PolicySourceArn=_source(account),
            ActionNames=["sts:AssumeRole"],
            ResourceArns=_roles(account),
        )
        .build_full_result()
    )
    for it in answer["EvaluationResults"]:
        role = it["EvalResourceName"].rpartition("/")[2]
        if it["EvalDecision"] == "allowed":
            yield TOPIC.ok(role, "the caller may assume it")
        else:
            yield TOPIC.refused(
                role,
                f"the caller may not assume it ({it['EvalDecision']})",
                f"allow {arn} the action sts:AssumeRole on {it['EvalResourceName']}",
            )


def _roles(account: Account) -> list[str]:
    """Return the ARNs of the roles that the cdk CLI assumes for these stacks."""
    found = set()
    for artifact in account.manifest.values():
        properties = artifact.get("properties", {})
        found.add(properties.get("assumeRoleArn"))
        found.add(properties.get("lookupRole", {}).get("arn"))
    return sorted(account.text({"Fn::Sub": it}) for it in found if it)


def _source(account: Account) -> str:
    """Return the ARN of the caller's role or user: a session of a role has no policies itself."""
    kind, _, name = account.caller.arn.split(":", 5)[5].partition("/")
    if kind != "assumed-role":
        return account.caller.arn
    role = account.client("iam").get_role(RoleName=name.split("/")[0])
    return str(role["Role"]["Arn"])
