"""The IAM and resource policies in templates, with references resolved."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from release.tree import Template

TRUST = "AWS::IAM::AssumeRolePolicyDocument"

RESOURCE_POLICIES = {
    "AWS::S3::BucketPolicy": ("PolicyDocument", "AWS::S3::Bucket"),
    "AWS::KMS::Key": ("KeyPolicy", "AWS::KMS::Key"),
    "AWS::SNS::TopicPolicy": ("PolicyDocument", "AWS::SNS::Topic"),
    "AWS::IAM::Role": ("AssumeRolePolicyDocument", TRUST),
}
"""Resource type -> property with the policy, and Access Analyzer's resource type."""

IDENTITY_POLICIES = ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy")


@dataclass(frozen=True)
class IamPolicy:
    """A policy of a template; `guards` is Access Analyzer's resource type, or None."""

    stack: str
    logical_id: str
    document: dict[str, Any]
    guards: str | None = None

    @property
    def subject(self) -> str:
        """The stack and the resource, for messages."""
        prefix = "trust of " if self.guards == TRUST else ""
        return f"{self.stack}: {prefix}{self.logical_id}"


def policies_of(stack: str, template: Template, known: Mapping[str, str]) -> Iterator[IamPolicy]:
    """Yield the policies of a template, with references resolved."""
    resources = template["Resources"]
    for name, resource in resources.items():
        properties, kind = resource.get("Properties", {}), resource["Type"]
        if kind in RESOURCE_POLICIES:
            key, guards = RESOURCE_POLICIES[kind]
            if key in properties:
                yield IamPolicy(stack, name, _replaced(properties[key], resources, known), guards)
        if kind in IDENTITY_POLICIES:
            yield IamPolicy(stack, name, _replaced(properties["PolicyDocument"], resources, known))
        for inline in properties.get("Policies", ()) if kind == "AWS::IAM::Role" else ():
            document = _replaced(inline["PolicyDocument"], resources, known)
            yield IamPolicy(stack, f"{name}/{inline['PolicyName']}", document)


_ARNS = {
    "AWS::S3::Bucket": "arn:{partition}:s3:::{name}",
    "AWS::SNS::Topic": "arn:{partition}:sns:{region}:{account}:{name}",
    "AWS::KMS::Key": "arn:{partition}:kms:{region}:{account}:key/{name}",
    "AWS::IAM::Role": "arn:{partition}:iam::{account}:role/{name}",
    "AWS::Lambda::Function": "arn:{partition}:lambda:{region}:{account}:function:{name}",
    "AWS::Logs::LogGroup": "arn:{partition}:logs:{region}:{account}:log-group:{name}:*",
    "AWS::CodeBuild::Project": "arn:{partition}:codebuild:{region}:{account}:project/{name}",
    "AWS::StepFunctions::StateMachine": (
        "arn:{partition}:states:{region}:{account}:stateMachine:{name}"
    ),
}
"""Resource type -> ARN format (service authorization reference)."""

_BY_REFERENCE = ("AWS::SNS::Topic", "AWS::StepFunctions::StateMachine")
"""Resource types whose Ref is the ARN (CloudFormation template reference)."""


def _replaced(value: Any, resources: dict[str, Any], known: Mapping[str, str]) -> Any:
    """Return a template value with intrinsic functions resolved.

    A reference becomes the logical ID of its resource in lower case. An imported value becomes a
    name from its export; the type of an imported ARN is guessed from the name of the export.
    """

    def replaced(part: Any) -> Any:
        match part:
            case {"Ref": str(name)} if name in known:
                return known[name]
            case {"Ref": str(name)}:
                resource_type = resources.get(name, {}).get("Type")
                return arn(name) if resource_type in _BY_REFERENCE else name.lower()
            case {"Fn::GetAtt": [str(name), str(attribute)]}:
                return arn(name) if attribute.endswith("Arn") else f"{name}-{attribute}".lower()
            case {"Fn::Sub": str(text)}:
                return re.sub(r"\$\{([^}!]+)\}", lambda match: replaced({"Ref": match[1]}), text)
            case {"Fn::Join": [str(separator), list(parts)]}:
                return separator.join(map(replaced, parts))
            case {"Fn::ImportValue": str(export)}:
                return _imported(export, known)
            case dict():
                return {name: replaced(inner) for name, inner in part.items()}
            case list():
                return [replaced(inner) for inner in part]
        return part

    def arn(name: str) -> str:
        return _arn(resources.get(name, {}).get("Type", ""), name.lower(), known)

    return replaced(value)


def _imported(export: str, known: Mapping[str, str]) -> str:
    name = re.sub(r"[^a-z0-9]", "", export.partition(":")[2].lower())[-40:]
    if "Arn" not in export:
        return name
    words = {"Bucket": "AWS::S3::Bucket", "Key": "AWS::KMS::Key"}
    types = [resource_type for word, resource_type in words.items() if word in export]
    return _arn([*types, "AWS::Lambda::Function"][0], name, known)


def _arn(resource_type: str, name: str, known: Mapping[str, str]) -> str:
    return _ARNS.get(resource_type, "arn:{partition}:*:::{name}").format(
        partition=known["AWS::Partition"],
        region=known["AWS::Region"],
        account=known["AWS::AccountId"],
        name=name,
    )
