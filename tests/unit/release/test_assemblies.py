"""Cloud assemblies, whose content the author of a change controls."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from release.assemblies import MAX_BYTES, read_synthesis
from release.checkout import NotSynthesised

STACK = {"type": "aws:cloudformation:stack", "properties": {"templateFile": "a.template.json"}}
TEMPLATE = {"Resources": {"Key": {"Type": "AWS::KMS::Key"}}}
TEMPLATE_KEY = f"{hashlib.sha256(json.dumps(TEMPLATE).encode()).hexdigest()}.json"


@pytest.fixture
def assembly(tmp_path: Path) -> Path:
    folder = tmp_path / "assemblies" / "prod"
    write_assembly(folder, "a")
    return folder


def write_assembly(folder: Path, stack: str) -> None:
    """Write the assembly of a stage with one stack."""
    folder.mkdir(parents=True)
    properties = {"templateFile": f"{stack}.template.json"}
    artifacts = {stack: {**STACK, "properties": properties}, "Tree": {"type": "cdk:tree"}}
    write_json(folder / "manifest.json", {"artifacts": artifacts})
    write_json(folder / f"{stack}.template.json", TEMPLATE)


def write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content))


def write_manifest(folder: Path, name: str, **changes: Any) -> None:
    write_json(folder / "manifest.json", {"artifacts": {name: {**STACK, **changes}}})


def test_acknowledged_findings(assembly: Path) -> None:
    data = {"Annotation::AwsSolutions-IAM5": "one key"}
    entries = [{"type": "aws:cdk:acknowledged-rules", "data": data}, {"type": "x"}]
    write_json(assembly / "a.metadata.json", {"/prod-text/Role": entries})
    assert read_synthesis(assembly.parent, "prod").acknowledged == (
        "cdk-nag: prod-text/Role: AwsSolutions-IAM5: one key",
    )


def test_stack_settings(assembly: Path) -> None:
    properties = {
        "templateFile": "a.template.json",
        "assumeRoleArn": "deploy",
        "stackTemplateAssetObjectUrl": f"s3://assets/{TEMPLATE_KEY}",
        "tags": {"team": "ml"},
    }
    write_manifest(assembly, "a", properties=properties, environment="aws://1/us-east-1")
    assert read_synthesis(assembly.parent, "prod").settings == {
        "a": {
            "assumeRoleArn": "deploy",
            "environment": "aws://1/us-east-1",
            "folder of templates": "s3://assets",
            "tags": {"team": "ml"},
        }
    }


def link_folder(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to(folder.with_name("elsewhere"))


def link_error_file(folder: Path) -> None:
    folder.with_name("secret").write_text("a secret")
    folder.with_name("prod.error").symlink_to(folder.with_name("secret"))


ASSET = {
    "source": {"path": "asset.0a1b", "packaging": "zip"},
    "destinations": {"here": {"bucketName": "assets", "objectKey": "prod/0a1b.zip"}},
}


def write_assets(folder: Path, images: Any = None, name: str = "a", **changes: Any) -> None:
    manifest = {"files": {"0a1b": {**ASSET, **changes}}, "dockerImages": images or {}}
    write_json(folder / f"{name}.assets.json", manifest)


def test_asset_destinations_are_stack_settings(assembly: Path) -> None:
    write_assets(assembly)
    (location,) = read_synthesis(assembly.parent, "prod").settings["a"]["assets"]
    assert json.loads(location) == {"bucketName": "assets", "objectKey": "prod"}


Invalidate = Callable[[Path], object]


def template(**changes: Any) -> Invalidate:
    return lambda folder: write_json(folder / "a.template.json", TEMPLATE | changes)


def template_text(text: str) -> Invalidate:
    return lambda folder: (folder / "a.template.json").write_text(text)


def resource(content: Any) -> Invalidate:
    return template(Resources={"Key": content})


def manifest(name: str = "a", **changes: Any) -> Invalidate:
    return lambda folder: write_manifest(folder, name, **changes)


def properties(**changes: Any) -> Invalidate:
    return manifest(properties={"templateFile": "a.template.json", **changes})


def assets(**changes: Any) -> Invalidate:
    return lambda folder: write_assets(folder, **changes)


def destination(value: Any) -> Invalidate:
    return assets(destinations={"here": value})


TRANSFORM = {"Type": "a", "Properties": {"a": {"Fn::Transform": {}}}}
PARAMETER = {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/triton/a"}
INVALID_ASSEMBLIES: dict[str, tuple[Invalidate, str]] = {
    "no assembly": (
        lambda folder: folder.rename(folder.with_name("other")),
        "its assembly is missing",
    ),
    "no manifest": (lambda folder: (folder / "manifest.json").unlink(), "cannot be read"),
    "missing template": (lambda folder: (folder / "a.template.json").unlink(), "cannot be read"),
    "symbolic link to a folder": (link_folder, "is not a folder"),
    "error file is a symbolic link": (link_error_file, "cannot be read"),
    "path to another folder": (manifest("../a"), "only stacks with the template"),
    "template with another name": (manifest("b"), "only stacks with the template"),
    "stack with another deployed name": (
        properties(stackName="prod-text"),
        "only stacks with the template",
    ),
    "nested assembly": (manifest(type="cdk:cloud-assembly"), "remove nested assemblies"),
    "template without a stack": (
        lambda folder: write_json(folder / "b.nested.template.json", TEMPLATE),
        "b.nested.template.json: a template without a stack",
    ),
    "nested stack": (
        resource({"Type": "AWS::CloudFormation::Stack"}),
        "is not a template with resources",
    ),
    "transform": (template(Transform=["x"]), "has a transform"),
    "nested transform": (
        template_text(json.dumps({"Resources": {"Key": TRANSFORM}}).replace("Fn", "\\u0046n")),
        "has a transform",
    ),
    "dynamic reference": (
        template(Description="{{resolve:ssm:/triton/a}}"),
        "takes a value from the account",
    ),
    "parameter from Parameter Store": (
        template(Parameters={"P": PARAMETER}),
        "takes a value from the account",
    ),
    "another object than the template": (
        properties(stackTemplateAssetObjectUrl="s3://assets/0a1b.json"),
        "would be deployed from another object than its template",
    ),
    "template under the key of an asset": (
        destination({"bucketName": "assets", "objectKey": "prod/0a1b.json"}),
        "no key of a template",
    ),
    "asset created by a program": (
        assets(source={"executable": ["sh", "-c", "id"]}),
        "a.assets.json: only assets that are files or folders of the assembly",
    ),
    "invalid asset destination": (destination("there"), "only assets that are files or folders"),
    "image asset": (
        assets(images={"0a1b": {"source": {"directory": "."}}}),
        "images are not reviewed",
    ),
    "duplicate key": (
        template_text(f'{{"Resources": {{}}, {json.dumps(TEMPLATE)[1:]}'),
        "is not JSON, or has a duplicate key",
    ),
    "invalid resource": (resource("x"), "is not a template with resources"),
    "file too large": (template_text(" " * (MAX_BYTES + 1)), "is not a file of at most"),
}


@pytest.mark.parametrize("title", INVALID_ASSEMBLIES)
def test_invalid_assembly_is_rejected(assembly: Path, title: str) -> None:
    assert read_synthesis(assembly.parent, "prod").templates == {"a": TEMPLATE}
    invalidate, reason = INVALID_ASSEMBLIES[title]
    invalidate(assembly)
    with pytest.raises(NotSynthesised, match=reason) as error:
        read_synthesis(assembly.parent, "prod")
    assert "secret" not in str(error.value)
