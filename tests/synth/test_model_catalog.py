"""ModelCatalog: dependencies, size limit and read access of entries."""

import json
from typing import Any

import pytest
from aws_cdk import aws_iam as iam

from endpoint_client import _catalog
from tests.synth.endpoints import SampleStack
from triton_sagemaker import ModelCatalog, ModelEntry, TensorSpec


def entry(**changes: Any) -> ModelEntry:
    values: dict[str, Any] = {
        "model": "minilm",
        "version": "0123456789ab",
        "endpoint": "prod-text",
        "target_model": "minilm-0123456789ab.tar.gz",
        "signature": {"inputs": [], "outputs": [], "max_batch_size": 64},
    }
    return ModelEntry(**values | changes)


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


@pytest.mark.parametrize("component", [None, "minilm-g5"])
def test_client_reads_the_entry(component: str | None) -> None:
    rows: TensorSpec = {"name": "rows", "datatype": "FP32", "shape": [-1, 8]}
    signature = {"inputs": [rows], "outputs": [], "max_batch_size": 64}
    written = entry(signature=signature, inference_component=component)
    read = _catalog.CatalogEntry.parse(written.as_json())
    assert (read.model, read.target_model, read.inference_component, read.inputs) == (
        "minilm",
        "minilm-0123456789ab.tar.gz",
        component,
        (_catalog.Tensor("rows", "FP32", (-1, 8)),),
    )
    assert ("inference_component" in json.loads(written.as_json())) == bool(component)


def test_entry_of_another_type_is_an_error() -> None:
    sample = SampleStack()
    catalog = ModelCatalog(sample.stack, "Catalog", stage="prod", endpoint="text")
    mapping: Any = {"churn": "churn.tar.gz"}
    with pytest.raises(TypeError, match=r"^entry: .* is of type dict: write ModelEntry\(model=,"):
        catalog.publish(mapping, after=[])
