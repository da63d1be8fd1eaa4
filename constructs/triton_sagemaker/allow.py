"""Policy statements of roles, with the reason for each wildcard."""

from collections.abc import Mapping, Sequence

from aws_cdk import aws_iam as iam

from triton_sagemaker.nag import acknowledge_wildcards

Conditions = Mapping[str, Mapping[str, str | list[str]]]


def allow(
    role: iam.IRole,
    actions: Sequence[str],
    resources: Sequence[str],
    wildcards: str | None = None,
    *,
    conditions: Conditions | None = None,
) -> None:
    """Allow a role to call `actions` on `resources`.

    `wildcards` is the reason why `resources` contain wildcards. It acknowledges cdk-nag's findings
    of the construct that contains the role.
    """
    if wildcards:
        acknowledge_wildcards(role.node.scope or role, {wildcards: resources})
    statement = iam.PolicyStatement(
        actions=list(actions), conditions=conditions, resources=list(resources)
    )
    role.add_to_principal_policy(statement)
