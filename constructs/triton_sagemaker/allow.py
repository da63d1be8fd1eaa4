"""One statement of a role's policy, with the reason of its wildcards."""

from collections.abc import Mapping, Sequence

from aws_cdk import aws_iam as iam

from triton_sagemaker.nag import acknowledge_wildcards

Conditions = Mapping[str, Mapping[str, str | list[str]]]
PULL = ("ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer")
"""Actions on the repository of an image."""
NO_RESOURCES = "Registry tokens, metrics and descriptions of networks know no resources."
"""Why their statements are on every resource; conditions narrow what can be narrowed."""


def allow(
    holder: iam.IRole | iam.Policy,
    actions: Sequence[str],
    resources: Sequence[str],
    wildcards: str | None = None,
    *,
    conditions: Conditions | None = None,
    sid: str | None = None,
) -> None:
    """Let a role, or the roles of a policy, call `actions` on `resources`.

    `wildcards` is why resources have some. They are acknowledged for the construct that has the
    role.
    """
    if wildcards:
        acknowledge_wildcards(holder.node.scope or holder, {wildcards: resources})
    statement = iam.PolicyStatement(
        actions=list(actions), conditions=conditions, resources=list(resources), sid=sid
    )
    if isinstance(holder, iam.Policy):
        holder.add_statements(statement)
    else:
        holder.add_to_principal_policy(statement)
