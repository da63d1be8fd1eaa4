"""Acknowledgements of cdk-nag's findings, made beside the statements that cause them."""

from collections.abc import Mapping, Sequence
from typing import Any

import jsii
from aws_cdk import Stack, Validations
from constructs import IConstruct, IValidation

KEY = Validations.ACKNOWLEDGED_RULES_METADATA_KEY


def acknowledge(construct: IConstruct, reason: str, *findings: str) -> None:
    """Acknowledge findings of the AwsSolutions rules below a construct, such as "SF1"."""
    _record(construct, dict.fromkeys(findings, reason))


def acknowledge_wildcards(construct: IConstruct, reasons: Mapping[str, Sequence[str]]) -> None:
    """Acknowledge resources with wildcards in the policies below a construct: reason -> resources.

    cdk-nag takes findings one by one: a wildcard that is new still fails the synthesis.
    """
    construct.node.add_validation(_Wildcards(construct, reasons))


@jsii.implements(IValidation)
class _Wildcards:
    """Resources to acknowledge when the construct is validated.

    Only then are references to other stacks what cdk-nag reads: `Fn::ImportValue`.
    """

    def __init__(self, construct: IConstruct, reasons: Mapping[str, Sequence[str]]) -> None:
        self._construct, self._reasons = construct, reasons

    @jsii.member(jsii_name="validate")
    def validate(self) -> list[str]:
        """Acknowledge them; there is nothing to report."""
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
    """Record findings with their reasons, as cdk-nag reads them.

    Without the stack trace that `Validations.acknowledge` adds: it has temporary paths, and two
    syntheses would differ.
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
