"""ModelCatalog: dependencies, size limit and read access of entries."""

from typing import Any

import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms

from tests.synth.endpoints import SampleStack
from triton_sagemaker import CatalogTable, ModelCatalog, ModelEntry


def test_entry_larger_than_an_item_is_an_error(sample: SampleStack) -> None:
    signature: Any = {"inputs": ["x" * 400 * 1024]}
    large = ModelEntry(
        model="minilm", version="0", endpoint="prod-text", target_model=None, signature=signature
    )
    with pytest.raises(ValueError, match=r"minilm has \d+ bytes, .* holds 405504"):
        ModelCatalog(sample.stack, "Catalog", stage="prod", endpoint="text", entries=[large])


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
