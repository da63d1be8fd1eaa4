"""The templates of a stage with names and ARNs as after a deploy."""

import re
import uuid
from collections.abc import Mapping
from typing import Any

from platform_facts import region
from tests.synth.assembly import Assembly, Resource

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

ARN_BY_REF = {
    "AWS::IAM::OIDCProvider",
    "AWS::SNS::Topic",
    "AWS::StepFunctions::StateMachine",
}
"""Resource types whose `Ref` is the ARN (template reference, return values)."""


class Deployed(Assembly):
    """The templates of a stage; `value` resolves references and functions like CloudFormation."""

    @property
    def partition(self) -> str:
        """The partition of the region of the stage."""
        return "aws-cn" if region(self.region).dns_suffix.endswith(".cn") else "aws"

    def name(self, resource: Resource) -> str:
        """Return the name of a resource: its own, or one generated as by CloudFormation."""
        own = resource.properties.get(NAME_PROPERTIES.get(resource.kind, ""))
        if own is not None:
            return str(self.value(own, resource.stack)).removeprefix("https://")
        stack, logical = resource.id.split(".")
        max_length = MAX_NAME_LENGTHS.get(resource.kind, 255) - len(NAME_SUFFIX) - 1
        name = f"{f'{stack}-{logical}'[:max_length]}-{NAME_SUFFIX}"
        return name.lower() if resource.kind == "AWS::S3::Bucket" else name

    def value(self, value: Any, stack: str) -> Any:
        """Return a part of a template as the service receives it."""
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
                return separator.join(str(self.value(part, stack)) for part in parts)
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
                return {key: self.value(part, stack) for key, part in value.items()}
            case list():
                return [self.value(part, stack) for part in value]
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
            id_ = str(uuid.uuid5(uuid.NAMESPACE_URL, resource.id))
        if attribute == "Arn" or (attribute is None and kind in ARN_BY_REF):
            suffix = ARNS[kind].format(
                account=self.account, id=id_, name=self.name(resource), region=self.region
            )
            return f"arn:{self.partition}:{suffix}"
        if kind == "AWS::ApplicationAutoScaling::ScalableTarget":
            keys = ("ResourceId", "ScalableDimension", "ServiceNamespace")
            return "|".join(self.value(resource.properties[key], resource.stack) for key in keys)
        return id_ or self.name(resource)
