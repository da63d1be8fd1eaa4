"""The templates of a stage with names and ARNs as after a deploy."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from platform_facts import region

NAME_SUFFIX = "A1B2C3D4E5F6"
"""The suffix of names that CloudFormation generates (user guide, "Name type")."""

MAX_NAME_LENGTHS = {
    "AWS::CloudWatch::Alarm": 255,
    "AWS::CodeBuild::Project": 255,
    "AWS::IAM::Role": 64,
    "AWS::Lambda::Function": 64,
    "AWS::Logs::LogGroup": 512,
    "AWS::S3::Bucket": 63,
    "AWS::SageMaker::EndpointConfig": 63,
    "AWS::SageMaker::Model": 63,
    "AWS::SNS::Topic": 256,
    "AWS::StepFunctions::StateMachine": 80,
}
"""Maximum length of generated names, from the API references."""

NAME_PROPERTIES = {
    "AWS::CloudWatch::Alarm": "AlarmName",
    "AWS::IAM::OIDCProvider": "Url",
    "AWS::Lambda::Function": "FunctionName",
    "AWS::Logs::LogGroup": "LogGroupName",
    "AWS::SNS::Topic": "TopicName",
    "AWS::SageMaker::Endpoint": "EndpointName",
    "AWS::SageMaker::InferenceComponent": "InferenceComponentName",
}
"""Resource type -> property with the name, for types whose name a template may set."""

ARNS = {
    "AWS::CodeBuild::Project": "codebuild:{region}:{account}:project/{name}",
    "AWS::EC2::VPC": "ec2:{region}:{account}:vpc/{id}",
    "AWS::IAM::OIDCProvider": "iam::{account}:oidc-provider/{name}",
    "AWS::IAM::Role": "iam::{account}:role/{name}",
    "AWS::KMS::Key": "kms:{region}:{account}:key/{id}",
    "AWS::Lambda::Function": "lambda:{region}:{account}:function:{name}",
    "AWS::Logs::LogGroup": "logs:{region}:{account}:log-group:{name}:*",
    "AWS::S3::Bucket": "s3:::{name}",
    "AWS::SNS::Topic": "sns:{region}:{account}:{name}",
    "AWS::StepFunctions::StateMachine": "states:{region}:{account}:stateMachine:{name}",
}

IDS = {
    "AWS::EC2::RouteTable": "rtb-0123456789abcdef0",
    "AWS::EC2::SecurityGroup": "sg-0123456789abcdef0",
    "AWS::EC2::Subnet": "subnet-0123456789abcdef0",
    "AWS::EC2::VPC": "vpc-0123456789abcdef0",
}
"""Resource type -> ID that the service generates; keys get one each."""

ARN_BY_REF = {"AWS::IAM::OIDCProvider", "AWS::SNS::Topic", "AWS::StepFunctions::StateMachine"}
"""Resource types whose `Ref` is the ARN (template reference, return values)."""


@dataclass(frozen=True)
class Resource:
    """A resource of a template; `id` is `stack.LogicalId`."""

    id: str
    kind: str
    properties: dict[str, Any]

    @property
    def stack(self) -> str:
        """The name of the stack."""
        return self.id.partition(".")[0]


class Deployed:
    """The resources of all templates of a stage, by stack name.

    `value` resolves references and functions like CloudFormation.
    """

    def __init__(
        self, templates: Mapping[str, Mapping[str, Any]], *, region: str, account: str
    ) -> None:
        self.templates = templates
        self.region, self.account = region, account

    @cached_property
    def resources(self) -> dict[str, Resource]:
        """Resources by their ids."""
        return {
            f"{stack}.{name}": Resource(
                f"{stack}.{name}", resource["Type"], resource.get("Properties", {})
            )
            for stack, template in self.templates.items()
            for name, resource in template["Resources"].items()
        }

    def of_type(self, kind: str) -> Iterator[Resource]:
        """Yield the resources of a type."""
        return (resource for resource in self.resources.values() if resource.kind == kind)

    def role_statements(self, role: Resource) -> list[dict[str, Any]]:
        """Return the statements of all policies of a role."""
        documents = [
            (policy["PolicyDocument"], role.stack) for policy in role.properties.get("Policies", [])
        ]
        documents += [
            (resource.properties["PolicyDocument"], resource.stack)
            for kind in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy")
            for resource in self.of_type(kind)
            if resource.stack == role.stack
            and {"Ref": role.id.partition(".")[2]} in resource.properties.get("Roles", [])
        ]
        return [
            statement
            for document, stack in documents
            for statement in self.statements(document, stack)
        ]

    @cached_property
    def exports(self) -> dict[str, tuple[str, Any]]:
        """Export name -> (stack, exported value)."""
        return {
            output["Export"]["Name"]: (stack, output["Value"])
            for stack, template in self.templates.items()
            for output in template.get("Outputs", {}).values()
            if "Export" in output
        }

    @property
    def partition(self) -> str:
        """The partition of the region of the stage."""
        return "aws-cn" if region(self.region).dns_suffix.endswith(".cn") else "aws"

    def name(self, resource: Resource) -> str:
        """Return the name of a resource."""
        explicit_name = resource.properties.get(NAME_PROPERTIES.get(resource.kind, ""))
        if explicit_name is not None:
            return str(self.value(explicit_name, resource.stack)).removeprefix("https://")
        return self.generated_name(resource)

    def generated_name(self, resource: Resource) -> str:
        """Return a name as generated by CloudFormation."""
        stack, logical = resource.id.split(".")
        max_length = MAX_NAME_LENGTHS.get(resource.kind, 255) - len(NAME_SUFFIX) - 1
        name = f"{f'{stack}-{logical}'[:max_length]}-{NAME_SUFFIX}"
        return name.lower() if resource.kind == "AWS::S3::Bucket" else name

    def value(self, value: Any, stack: str) -> Any:
        """Return a template value as the service receives it."""
        match value:
            case {"Ref": str(name)} if name.startswith("AWS::"):
                return self._pseudo_value(name)
            case {"Ref": str(name)}:
                return self._reference(self.resources[f"{stack}.{name}"], None)
            case {"Fn::GetAtt": [name, attribute]}:
                return self._reference(self.resources[f"{stack}.{name}"], attribute)
            case {"Fn::ImportValue": name}:
                exporter, exported = self.exports[self.value(name, stack)]
                return self.value(exported, exporter)
            case {"Fn::Join": [separator, parts]}:
                return separator.join(str(self.value(member, stack)) for member in parts)
            case {"Fn::Sub": str(text)}:
                return re.sub(r"\$\{(AWS::\w+)\}", lambda match: self._pseudo_value(match[1]), text)
            case {"Fn::GetAZs": _}:
                return [f"{self.region}{letter}" for letter in "abc"]
            case {"Fn::Select": [index, choices]}:
                return self.value(choices, stack)[int(index)]
            case dict():
                if unknown := [key for key in value if key.startswith("Fn::")]:
                    raise AssertionError(
                        f"{stack}: unknown function {unknown}: add it to Deployed.value"
                    )
                return {key: self.value(member, stack) for key, member in value.items()}
            case list():
                return [self.value(member, stack) for member in value]
        return value

    def statements(self, document: Mapping[str, Any], stack: str) -> list[dict[str, Any]]:
        """Return the statements of a policy as IAM receives them."""
        return [self.value(statement, stack) for statement in document["Statement"]]

    def arn(self, resource: Resource) -> str:
        """Return the ARN of a resource."""
        return self._reference(resource, "Arn")

    def _pseudo_value(self, name: str) -> str:
        return {
            "AWS::AccountId": self.account,
            "AWS::Partition": self.partition,
            "AWS::Region": self.region,
            "AWS::URLSuffix": region(self.region).dns_suffix,
        }[name]

    def _reference(self, resource: Resource, attribute: str | None) -> str:
        kind, id_ = resource.kind, IDS.get(resource.kind, "")
        if kind == "AWS::KMS::Key":
            id_ = f"01234567-89ab-cdef-0123-{[*self.resources].index(resource.id):012}"
        if attribute == "Arn" or (attribute is None and kind in ARN_BY_REF):
            suffix = ARNS[kind].format(
                account=self.account, id=id_, name=self.name(resource), region=self.region
            )
            return f"arn:{self.partition}:{suffix}"
        if kind == "AWS::ApplicationAutoScaling::ScalableTarget":
            keys = ("ResourceId", "ScalableDimension", "ServiceNamespace")
            return "|".join(self.value(resource.properties[key], resource.stack) for key in keys)
        return id_ or self.name(resource)
