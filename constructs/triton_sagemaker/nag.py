"""Acknowledgement of cdk-nag findings."""

from collections.abc import Mapping, Sequence
from typing import Any

import jsii
from aws_cdk import Stack, Validations
from constructs import IConstruct, IValidation

KEY = Validations.ACKNOWLEDGED_RULES_METADATA_KEY


def acknowledge(construct: IConstruct, reason: str, *findings: str) -> None:
    """Acknowledge AwsSolutions findings, such as "SF1", on a construct and its children."""
    _record(construct, dict.fromkeys(findings, reason))


def acknowledge_wildcards(construct: IConstruct, reasons: Mapping[str, Sequence[str]]) -> None:
    """Acknowledge wildcard resources in policies of a construct and its children.

    `reasons` maps a reason to the resources. Only these resources are acknowledged: a new wildcard
    still fails the synthesis.
    """
    construct.node.add_validation(_Wildcards(construct, reasons))


@jsii.implements(IValidation)
class _Wildcards:
    """A validation that acknowledges wildcard resources.

    It runs after references to other stacks are resolved to `Fn::ImportValue`, as cdk-nag reads
    them.
    """

    def __init__(self, construct: IConstruct, reasons: Mapping[str, Sequence[str]]) -> None:
        self._construct, self._reasons = construct, reasons

    @jsii.member(jsii_name="validate")
    def validate(self) -> list[str]:
        """Acknowledge the resources; return no problems."""
        reasons: dict[str, list[Any]] = Stack.of(self._construct).resolve(self._reasons)
        names = {
            _flatten(resource): reason
            for reason, resources in reasons.items()
            for resource in resources
        }
        _record(
            self._construct,
            {f"IAM5[Resource::{name}]": reason for name, reason in names.items() if "*" in name},
        )
        return []


def _record(construct: IConstruct, reasons: Mapping[str, str]) -> None:
    """Record findings with their reasons in the metadata that cdk-nag reads.

    `Validations.acknowledge` would add a stack trace with temporary paths, which makes two
    syntheses differ.
    """
    rules = {f"Annotation::AwsSolutions-{finding}": reason for finding, reason in reasons.items()}
    construct.node.add_metadata(KEY, rules)


def _flatten(value: Any) -> str:
    """Return a value of a template as cdk-nag writes it (src/utils/flatten-cfn-reference.ts)."""
    match value:
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(map(_flatten, parts))
        case {"Fn::GetAtt": [resource, attribute]}:
            return f"<{resource}.{attribute}>"
        case {"Fn::ImportValue": name}:
            return _flatten(name)
        case {"Fn::Sub": text}:
            return str(text).replace("${", "<").replace("}", ">")
        case {"Ref": name}:
            return f"<{name}>"
    return str(value)
