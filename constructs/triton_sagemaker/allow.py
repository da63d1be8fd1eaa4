"""A statement of a role's policy, with the reason of its wildcards."""

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
    """Let a role call `actions` on `resources`; `wildcards` is why these have some.

    They are acknowledged for the construct that has the role.
    """
    if wildcards:
        acknowledge_wildcards(role.node.scope or role, {wildcards: resources})
    statement = iam.PolicyStatement(
        actions=list(actions), conditions=conditions, resources=list(resources)
    )
    role.add_to_principal_policy(statement)
