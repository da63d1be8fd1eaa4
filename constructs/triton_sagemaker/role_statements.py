"""Policy statements of a role, with the reasons for their wildcards."""

from collections.abc import Mapping, Sequence

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

NO_RESOURCES = "Registry tokens, metrics and descriptions of networks know no resources."
"""The reason for the resource "*" in statements of these actions."""


class RoleStatements:
    """Policy statements for resources in a stack's account and region.

    `wildcards` maps a reason to the wildcard resources of the statements created so far.
    """

    def __init__(self, stack: Stack) -> None:
        self.account, self._partition = stack.account, stack.partition
        self._region = stack.region
        self.wildcards = dict[str, list[str]]()

    def arn(self, service: str, resource: str, place: str | None = None) -> str:
        """Return an ARN in the stack's region and account, or in `place` ("REGION:ACCOUNT")."""
        place = place or f"{self._region}:{self.account}"
        return f"arn:{self._partition}:{service}:{place}:{resource}"

    def allow(
        self,
        sid: str,
        actions: Sequence[str],
        resources: Sequence[str],
        conditions: Mapping[str, object] | None = None,
        *,
        wildcards: str | None = None,
    ) -> iam.PolicyStatement:
        """Return an Allow statement; `wildcards` is the reason for wildcards in `resources`."""
        if wildcards:
            self.wildcards.setdefault(wildcards, []).extend(resources)
        return iam.PolicyStatement(
            sid=sid, actions=list(actions), resources=list(resources), conditions=conditions
        )
