"""Policy statements of roles, with the reason for each wildcard."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from weakref import WeakKeyDictionary

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import IConstruct

from platform_facts import ImageReference
from triton_sagemaker.nag import acknowledge_wildcards
from triton_sagemaker.triton_container import ContainerImage

Conditions = Mapping[str, Mapping[str, str | list[str]]]

NO_RESOURCES = "Registry tokens, metrics and descriptions of networks support no resource ARNs."
"""Reason for statements on all resources; conditions restrict them where possible."""

_WILDCARDS = WeakKeyDictionary[IConstruct, dict[str, list[str]]]()
"""Construct -> reason -> resources, so that each construct has only one validation."""


class StackArns:
    """ARNs in the account and region of the stack that contains a construct."""

    def __init__(self, construct: IConstruct) -> None:
        stack = Stack.of(construct)
        self.partition, self.region, self.account = stack.partition, stack.region, stack.account

    def arn(self, service: str, resource: str) -> str:
        """Return the ARN of a resource, such as `endpoint/text` of the service `sagemaker`."""
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{resource}"


def allow_statement(
    construct: IConstruct,
    actions: Sequence[str],
    resources: Sequence[str],
    wildcard_reason: str | None = None,
    *,
    sid: str | None = None,
    conditions: Conditions | None = None,
) -> iam.PolicyStatement:
    """Return a statement that allows `actions` on `resources`.

    `wildcard_reason` is required if `resources` contain wildcards. It acknowledges cdk-nag's
    findings below `construct`, which contains the role.
    """
    if wildcard_reason:
        if construct not in _WILDCARDS:
            _WILDCARDS[construct] = {}
            acknowledge_wildcards(construct, _WILDCARDS[construct])
        _WILDCARDS[construct].setdefault(wildcard_reason, []).extend(resources)
    return iam.PolicyStatement(
        sid=sid, actions=list(actions), conditions=conditions, resources=list(resources)
    )


def allow(
    role: iam.IRole,
    actions: Sequence[str],
    resources: Sequence[str],
    wildcard_reason: str | None = None,
    *,
    conditions: Conditions | None = None,
) -> None:
    """Allow a role to call `actions` on `resources`: see `allow_statement`."""
    construct = (role.node.scope if wildcard_reason else None) or role
    role.add_to_principal_policy(
        allow_statement(construct, actions, resources, wildcard_reason, conditions=conditions)
    )


def allow_image_pulls(
    construct: IConstruct, images: Iterable[ContainerImage], *, partition: str
) -> Iterator[iam.PolicyStatement]:
    """Yield statements that allow pulls from ECR. Source: CodeBuild user guide, sample-ecr."""
    repositories = {
        image.repository_arn or ImageReference.parse(image.uri).repository_arn(partition)
        for image in images
    }
    yield allow_statement(
        construct,
        ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"],
        sorted(repositories),
        sid="PullImages",
    )
    # A token is valid for all registries.
    yield allow_statement(
        construct, ["ecr:GetAuthorizationToken"], ["*"], NO_RESOURCES, sid="LogInToRegistries"
    )
