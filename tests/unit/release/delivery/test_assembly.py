"""Tests of a cloud assembly, and of its copy with another template."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from release.delivery.assembly import Assembly

MODELS = {"Resources": {"Bucket": {"Type": "AWS::S3::Bucket", "Properties": {}}}}
HASH = "0a" * 32
KEY = "text/cuda-25.09-sm86/minilm-0123456789ab.tar.gz"
ASSETS = {"Fn::Sub": "assets-${AWS::AccountId}-${AWS::Region}"}
TEXT = {
    "Resources": {
        "minilm": {
            "Type": "Custom::TritonModel",
            "Properties": {
                "ServiceToken": {"Fn::ImportValue": "prod-models:ExportsOutputOfProvider1"},
                "Key": KEY,
                "Digest": "0123456789ab",
                "Bucket": {"Fn::ImportValue": "prod-models:ExportsOutputRefModelsBucket1"},
                "Source": {"Fn::Join": ["", [ASSETS, "/0a1b.zip"]]},
                "Place": {"Ref": "AWS::AccountId"},
            },
        },
        "Endpoint": {
            "Type": "AWS::SageMaker::Endpoint",
            "Properties": {
                "EndpointName": "prod-text",
                "EndpointConfigName": {"Fn::GetAtt": ["Config1", "EndpointConfigName"]},
            },
        },
    }
}


@pytest.fixture
def assembly(tmp_path: Path) -> Assembly:
    for name, template in (("prod-models", MODELS), ("prod-text", TEXT)):
        (tmp_path / f"{name}.template.json").write_text(json.dumps(template))
    return Assembly(tmp_path, "prod")


def test_stacks_archives_and_endpoints_of_an_assembly(assembly: Assembly) -> None:
    assert list(assembly.templates) == ["prod-models", "prod-text"]
    assert {key: archive.stack for key, archive in assembly.archives.items()} == {KEY: "prod-text"}
    (endpoint,) = assembly.endpoints
    assert (endpoint.name, endpoint.short_name) == ("prod-text", "text")
    assert (endpoint.stack, endpoint.logical_id, endpoint.config) == (
        *("prod-text", "Endpoint", "Config1"),
    )


def test_build_properties_are_resolved(assembly: Assembly) -> None:
    known = {
        "AWS::AccountId": "123456789012",
        "AWS::Region": "eu-west-1",
        "prod-models:ExportsOutputRefModelsBucket1": "bucket",
    }
    assert assembly.builds(known) == {
        KEY: {
            "Key": KEY,
            "Digest": "0123456789ab",
            "Bucket": "bucket",
            "Source": "assets-123456789012-eu-west-1/0a1b.zip",
            "Place": "123456789012",
        }
    }


def test_replaced_template_is_uploaded_under_its_own_hash(tmp_path: Path) -> None:
    url, own = "s3://assets-${AWS::AccountId}", "prod-text.template.json"
    artifacts: dict[str, Any] = {
        "prod-text": {
            "type": "aws:cdk:cloudformation:stack",
            "properties": {
                "templateFile": own,
                "stackTemplateAssetObjectUrl": f"{url}/{HASH}.json",
                "assumeRoleArn": "deploys",
            },
            "dependencies": ["prod-models", "prod-text.assets"],
            "additionalMetadataFile": "prod-text.metadata.json",
        },
        "prod-text.assets": {
            "type": "cdk:asset-manifest",
            "properties": {"file": "prod-text.assets.json"},
        },
        "prod-models": {"type": "aws:cdk:cloudformation:stack"},
    }
    asset = {"bucketName": "assets-${AWS::AccountId}", "objectKey": f"prod/{HASH}.json"}
    assets: dict[str, Any] = {
        "version": "55.0.0",
        "files": {
            HASH: {"source": {"path": own}, "destinations": {"here": asset}},
            "0b": {"source": {"path": "asset.0b"}, "destinations": {}},
        },
    }
    for name, content in (
        ("manifest.json", {"version": "55.0.0", "artifacts": artifacts}),
        ("prod-text.assets.json", assets),
        (own, TEXT),
    ):
        (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "asset.0b").write_text("source")
    before = {path: path.read_text() for path in tmp_path.iterdir()}

    with Assembly(tmp_path, "prod").with_template("prod-text", MODELS) as folder:
        manifest, listed, template = (
            json.loads((folder / name).read_text())
            for name in ("manifest.json", "prod-text.assets.json", own)
        )
        digest = hashlib.sha256((folder / own).read_bytes()).hexdigest()
        assert (folder / "asset.0b").read_text() == "source"
    assert not folder.exists()
    assert template == MODELS
    properties = artifacts["prod-text"]["properties"]
    properties["stackTemplateAssetObjectUrl"] = f"{url}/{digest}.json"
    assert manifest["artifacts"] == artifacts
    asset["objectKey"] = f"prod/{digest}.json"
    assets["files"][digest] = assets["files"].pop(HASH)
    assert listed == assets
    assert {path: path.read_text() for path in tmp_path.iterdir()} == before
