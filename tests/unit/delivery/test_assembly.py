"""Test of the copy of a cloud assembly with another template."""

import hashlib
import json
from pathlib import Path

from delivery.assembly import Assembly

MODELS = {"Resources": {"Bucket": {"Type": "AWS::S3::Bucket", "Properties": {}}}}
HASH = "0a" * 32


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
        "prod-text.template.json": {"Resources": {"Archives": {"Type": "Custom::TritonModels"}}},
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
