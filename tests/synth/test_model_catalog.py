"""ModelCatalog: dependencies, size limit and read access of entries."""

import hashlib
import json
from typing import Any

import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms

from endpoint_client import _catalog
from platform_facts.rules.catalog import list_text
from tests.synth.endpoints import SampleStack
from triton_sagemaker import CatalogTable, CatalogWriter, ModelCatalog, ModelEntry, TensorSpec


def entry(**changes: Any) -> ModelEntry:
    values: dict[str, Any] = {
        "model": "minilm",
        "version": "0123456789ab",
        "endpoint": "prod-text",
        "target_model": "minilm-0123456789ab.tar.gz",
        "signature": {"inputs": [], "outputs": [], "max_batch_size": 64},
    }
    return ModelEntry(**values | changes)


def make_catalog(sample: SampleStack, *entries: ModelEntry) -> ModelCatalog:
    return ModelCatalog(sample.stack, "Catalog", stage="prod", endpoint="text", entries=entries)


def test_entries_are_written_after_given_constructs() -> None:
    sample = SampleStack()
    endpoint = sample.endpoint().endpoint
    entries = [entry(), entry(model="bert")]
    catalog = make_catalog(sample, *entries)
    catalog.publish(writer=CatalogWriter(sample.stack, "Writer", stage="prod"), after=[endpoint])
    (resource,) = sample.template().find_resources("Custom::TritonCatalog").values()
    assert sample.stack.get_logical_id(endpoint) in resource["DependsOn"]
    properties = resource["Properties"]
    names = (catalog.name, f"{properties['Table']}/{properties['Endpoint']}")
    assert names == ("triton-catalog-prod/text",) * 2
    text = list_text(entry.as_json() for entry in entries)
    assert properties["Digest"] == hashlib.sha256(text.encode()).hexdigest()


def test_entry_larger_than_an_item_is_an_error() -> None:
    large = entry(signature={"inputs": ["x" * 400 * 1024]})
    with pytest.raises(ValueError, match=r"minilm has \d+ bytes, .* holds 405504"):
        make_catalog(SampleStack(), large)


def granted(**options: Any) -> list[dict[str, Any]]:
    """Return the statements of a user who may read the catalog."""
    sample = SampleStack()
    catalog = ModelCatalog(sample.stack, "Catalog", stage="prod", endpoint="text")
    catalog.grant_read(iam.User(sample.stack, "User"), **options)
    return list(sample.properties("AWS::IAM::Policy")["PolicyDocument"]["Statement"])


def test_grant_read_is_limited_to_the_endpoint() -> None:
    look_up, listing = granted()
    assert (look_up["Action"], listing["Action"]) == ("dynamodb:GetItem", "dynamodb:Query")
    assert look_up["Resource"]["Fn::Join"][1][-1] == ":table/triton-catalog-prod"
    assert look_up["Condition"] == {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["text#*"]}}
    assert listing["Resource"]["Fn::Join"][1][-1] == ":table/triton-catalog-prod/index/by-endpoint"
    assert listing["Condition"] == {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["text"]}}


def test_grant_read_by_model() -> None:
    (look_up,) = granted(models=["minilm", "bert"])
    assert look_up["Action"] == "dynamodb:GetItem"
    assert look_up["Condition"] == {
        "ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["text#minilm", "text#bert"]}
    }


def test_readers_of_an_encrypted_table_may_decrypt_it() -> None:
    sample = SampleStack()
    key = kms.Key(sample.stack, "Key")
    CatalogTable(sample.stack, "Table", stage="prod", encryption_key=key)
    catalog = ModelCatalog(
        sample.stack, "Catalog", stage="prod", endpoint="text", encryption_key=key
    )
    catalog.grant_read(iam.User(sample.stack, "User"))
    table = sample.properties("AWS::DynamoDB::Table")
    assert table["SSESpecification"]["SSEEnabled"] is True
    statements = sample.properties("AWS::IAM::Policy")["PolicyDocument"]["Statement"]
    assert "kms:Decrypt" in [statement["Action"] for statement in statements]


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
