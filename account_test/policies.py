"""The IAM policies of a template, with references resolved."""

from collections.abc import Iterator, Mapping
from typing import Any

from release.template_resources import resolve, resources
from release.tree import Template

INTRINSIC_FUNCTIONS = {"Ref", "Fn::ImportValue", "Fn::Join", "Fn::Sub"}


def iam_policies(template: Template, parameters: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the documents of a template's IAM policies, with references resolved.

    `parameters` are the values of CloudFormation's pseudo parameters. An imported value becomes an
    example ARN of a bucket or key, depending on the name of its export.
    """
    for _, properties in resources(template, "AWS::IAM::Policy"):
        yield _resolve(properties["PolicyDocument"], parameters)


def _resolve(value: Any, parameters: Mapping[str, str]) -> Any:
    match value:
        case {"Fn::ImportValue": str(export)}:
            partition, region = parameters["AWS::Partition"], parameters["AWS::Region"]
            key = f"kms:{region}:{parameters['AWS::AccountId']}:key/example"
            return f"arn:{partition}:{'s3:::example' if 'Bucket' in export else key}"
        case {"Fn::Join": [str(separator), list(parts)]}:
            return separator.join(_resolve(part, parameters) for part in parts)
        case dict() if not INTRINSIC_FUNCTIONS & value.keys():
            return {name: _resolve(member, parameters) for name, member in value.items()}
        case list():
            return [_resolve(item, parameters) for item in value]
    return resolve(value, parameters)
