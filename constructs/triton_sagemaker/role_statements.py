"""Statements of role policies, with the reasons for their wildcards."""

from collections.abc import Mapping, Sequence

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

NO_RESOURCES = "Registry tokens, metrics and descriptions of networks know no resources."
"""Reason for statements on all resources; conditions restrict them where possible."""


class RoleStatements:
    """Creates policy statements, and collects the reasons for their wildcards.

    `wildcards` maps reasons to the resources with wildcards of all statements so far.
    """

    def __init__(self, stack: Stack) -> None:
        self.account, self._partition = stack.account, stack.partition
        self._region = stack.region
        self.wildcards = dict[str, list[str]]()

    def arn(self, service: str, resource: str, place: str | None = None) -> str:
        """Return an ARN; `place` is REGION:ACCOUNT, by default those of the stack."""
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
        """Return a statement that allows actions; `wildcards` is the reason for wildcards."""
        if wildcards:
            self.wildcards.setdefault(wildcards, []).extend(resources)
        return iam.PolicyStatement(
            sid=sid, actions=list(actions), resources=list(resources), conditions=conditions
        )
