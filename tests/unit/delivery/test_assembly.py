"""Tests of a cloud assembly, and of its copy with another template."""

import hashlib
import json
from pathlib import Path

import pytest

from delivery.assembly import Assembly

MODELS = {"Resources": {"Bucket": {"Type": "AWS::S3::Bucket", "Properties": {}}}}
HASH = "0a" * 32
ASSETS = {"Fn::Sub": "assets-${AWS::AccountId}-${AWS::Region}"}
TEXT = {
    "Resources": {
        "Archives": {
            "Type": "Custom::TritonModels",
            "Properties": {
                "ServiceToken": {"Fn::ImportValue": "prod-models:ExportsOutputOfProvider1"},
                "List": {"Fn::Join": ["", [ASSETS, "/0a1b.jsonl"]]},
                "Digest": "0123456789ab",
                "Bucket": {"Fn::ImportValue": "prod-models:ExportsOutputRefModelsBucket1"},
            },
        }
    }
}


@pytest.fixture
def assembly(tmp_path: Path) -> Assembly:
    for name, template in (("prod-models", MODELS), ("prod-text", TEXT)):
        (tmp_path / f"{name}.template.json").write_text(json.dumps(template))
    return Assembly(tmp_path, "prod")


def test_build_properties_are_resolved(assembly: Assembly) -> None:
    values = {
        "AWS::AccountId": "123456789012",
        "AWS::Region": "eu-west-1",
        "prod-models:ExportsOutputRefModelsBucket1": "bucket",
    }
    assert assembly.builds(values) == {
        "prod-text": {
            "List": "assets-123456789012-eu-west-1/0a1b.jsonl",
            "Digest": "0123456789ab",
            "Bucket": "bucket",
        }
    }


def test_replaced_template_is_uploaded_under_its_own_hash(tmp_path: Path) -> None:
    contents = {
        "manifest.json": {
            "artifacts": {
                "prod-text": {
                    "properties": {
                        "templateFile": "prod-text.template.json",
                        "stackTemplateAssetObjectUrl": f"s3://assets/{HASH}.json",
                    }
                }
            }
        },
        "prod-text.assets.json": {
            "files": {HASH: {"objectKey": f"prod/{HASH}.json"}, "0b": {"objectKey": "prod/0b.zip"}}
        },
        "prod-text.template.json": TEXT,
        "asset.0b": "source",
    }
    texts = {name: json.dumps(content) for name, content in contents.items()}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    with Assembly(tmp_path, "prod").with_template("prod-text", MODELS) as folder:
        copies = {path.name: path.read_text() for path in folder.iterdir()}
    assert not folder.exists()
    template = copies.pop("prod-text.template.json")
    assert json.loads(template) == MODELS
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == texts
    del texts["prod-text.template.json"]
    new_hash = hashlib.sha256(template.encode()).hexdigest()
    assert copies == {name: text.replace(HASH, new_hash) for name, text in texts.items()}
