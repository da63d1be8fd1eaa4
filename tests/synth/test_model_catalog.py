"""ModelCatalog: dependencies, size limit and read access of entries."""

from typing import Any

import pytest
from aws_cdk import aws_iam as iam

from tests.synth.endpoints import SampleStack
from triton_sagemaker import ModelCatalog


def entry(**changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "model": "minilm",
        "version": "0123456789ab",
        "endpoint": "prod-text",
        "target_model": "minilm-0123456789ab.tar.gz",
        "signature": {"inputs": [], "outputs": [], "max_batch_size": 64},
    }
    return values | changes


def test_entry_depends_on_given_constructs() -> None:
    sample = SampleStack()
    endpoint = sample.endpoint().endpoint
    catalog = ModelCatalog(sample.stack, "Catalog", stage="prod", endpoint="text")
    catalog.publish(entry(), after=[endpoint])
    (parameter,) = sample.template().find_resources("AWS::SSM::Parameter").values()
    assert parameter["DependsOn"] == [sample.stack.get_logical_id(endpoint)]


def test_entry_larger_than_a_parameter_is_an_error() -> None:
    sample = SampleStack()
    catalog = ModelCatalog(sample.stack, "Catalog", stage="prod", endpoint="text")
    large = entry(signature={"inputs": ["x" * 4096]})
    with pytest.raises(ValueError, match=r"minilm has \d+ characters, .* holds 4096"):
        catalog.publish(large, after=[sample.bucket])


def test_grant_read_is_limited_to_the_catalog() -> None:
    sample = SampleStack()
    catalog = ModelCatalog(sample.stack, "Catalog", stage="prod", endpoint="text")
    catalog.grant_read(iam.User(sample.stack, "User"))
    (statement,) = sample.properties("AWS::IAM::Policy")["PolicyDocument"]["Statement"]
    assert statement["Action"] == ["ssm:GetParameter", "ssm:GetParametersByPath"]
    ends = [arn["Fn::Join"][1][-1] for arn in statement["Resource"]]
    assert ends == [":parameter/triton/prod/text", ":parameter/triton/prod/text/*"]
