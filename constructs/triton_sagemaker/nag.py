"""Acknowledgements of cdk-nag findings, next to the statements that cause them."""

from collections.abc import Mapping, Sequence
from typing import Any

import jsii
from aws_cdk import Stack, Validations
from constructs import IConstruct, IValidation

METADATA_KEY = Validations.ACKNOWLEDGED_RULES_METADATA_KEY


def acknowledge(construct: IConstruct, reason: str, *findings: str) -> None:
    """Acknowledge findings of the AwsSolutions rules below a construct, such as "SF1"."""
    _record(construct, dict.fromkeys(findings, reason))


def acknowledge_wildcards(construct: IConstruct, reasons: Mapping[str, Sequence[str]]) -> None:
    """Acknowledge wildcards of resources in the policies below a construct: reason -> resources.

    Each resource is acknowledged separately, so that a new wildcard still fails the synthesis.
    """
    construct.node.add_validation(_Wildcards(construct, reasons))


@jsii.implements(IValidation)
class _Wildcards:
    """Wildcards that are acknowledged when the construct is validated.

    Before the validation, references to other stacks are not yet the `Fn::ImportValue` that cdk-nag
    reads.
    """

    def __init__(self, construct: IConstruct, reasons: Mapping[str, Sequence[str]]) -> None:
        self._construct, self._reasons = construct, reasons

    @jsii.member(jsii_name="validate")
    def validate(self) -> list[str]:
        """Acknowledge the resources, and return no errors."""
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
    """Write acknowledged findings and their reasons into the metadata that cdk-nag reads.

    `Validations.acknowledge` would add a stack trace with temporary paths, so that two syntheses
    would differ.
    """
    rules = {f"Annotation::AwsSolutions-{finding}": reason for finding, reason in reasons.items()}
    construct.node.add_metadata(METADATA_KEY, rules)


def _flatten(value: Any) -> str:
    """Return a template value in cdk-nag's notation (src/utils/flatten-cfn-reference.ts)."""
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
