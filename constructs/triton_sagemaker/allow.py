"""Policy statements of roles, with the reason for each wildcard."""

import re
from collections.abc import Iterable, Mapping, Sequence

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from triton_sagemaker.nag import acknowledge_wildcards

Conditions = Mapping[str, Mapping[str, str | list[str]]]

NO_RESOURCES = "Registry tokens, metrics and descriptions of networks support no resource ARNs."
"""Reason for statements on all resources; conditions restrict them where possible."""


def allow(
    grantee: iam.IRole | iam.Policy,
    actions: Sequence[str],
    resources: Sequence[str],
    wildcard_reason: str | None = None,
    *,
    sid: str | None = None,
    conditions: Conditions | None = None,
) -> None:
    """Add a statement to a role or policy that allows `actions` on `resources`.

    `wildcard_reason` is required if `resources` contain wildcards. It acknowledges cdk-nag's
    findings of the construct that contains the role or policy.
    """
    if wildcard_reason:
        acknowledge_wildcards(grantee.node.scope or grantee, {wildcard_reason: resources})
    statement = iam.PolicyStatement(
        sid=sid, actions=list(actions), conditions=conditions, resources=list(resources)
    )
    if isinstance(grantee, iam.Policy):
        grantee.add_statements(statement)
    else:
        grantee.add_to_principal_policy(statement)


def allow_image_pulls(role: iam.IRole, images: Iterable[str]) -> None:
    """Allow a role to pull images from ECR. Source: CodeBuild user guide, sample-ecr."""
    partition = Stack.of(role).partition
    repositories = set[str]()
    for image in images:  # account.dkr.ecr.region.suffix/name:tag, or /name@digest
        registry, _, tagged_name = image.partition("/")
        account, _, _, region = registry.split(".")[:4]
        name = re.split("[:@]", tagged_name)[0]
        repositories.add(f"arn:{partition}:ecr:{region}:{account}:repository/{name}")
    allow(
        role,
        ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"],
        sorted(repositories),
        sid="PullImages",
    )
    # A token is valid for all registries.
    allow(role, ["ecr:GetAuthorizationToken"], ["*"], NO_RESOURCES, sid="LogInToRegistries")


def stack_arn(construct: Construct, service: str, resource: str) -> str:
    """Return the ARN of a resource in the account and region of a construct's stack."""
    stack = Stack.of(construct)
    return f"arn:{stack.partition}:{service}:{stack.region}:{stack.account}:{resource}"
