"""Assemblies are files that whoever may change the app has written."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from release.checkouts import Clone
from release.review.assemblies import LARGEST, read, write
from release.tree import NotSynthesised
from tests.unit.release.review.conftest import APP
from tests.unit.release.review.conftest import write as write_file

STACK = {"type": "aws:cloudformation:stack", "properties": {"templateFile": "a.template.json"}}
TEMPLATE = {"Resources": {"Key": {"Type": "AWS::KMS::Key"}}}


@pytest.fixture
def assembly(tmp_path: Path) -> Path:
    folder = tmp_path / "assemblies" / "prod"
    folder.mkdir(parents=True)
    write_json(folder / "manifest.json", {"artifacts": {"a": STACK, "Tree": {"type": "cdk:tree"}}})
    write_json(folder / "a.template.json", TEMPLATE)
    return folder


def write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content))


def write_manifest(folder: Path, name: str, **changes: Any) -> None:
    write_json(folder / "manifest.json", {"artifacts": {name: {**STACK, **changes}}})


def test_what_a_tree_writes_is_read(clone: Clone, tmp_path: Path) -> None:
    made = write(clone, tmp_path / "assemblies")
    assert list(made.synth("prod").templates) == ["prod-text"]


def test_an_app_that_fails_leaves_its_reason_and_its_templates(
    clone: Clone, tmp_path: Path
) -> None:
    write_file(clone, "app.py", f"{APP}\nraise SystemExit('error: refused')")
    made = write(clone, tmp_path / "assemblies")
    with pytest.raises(NotSynthesised, match=r"^refused$"):
        made.synth("prod")
    assert (tmp_path / "assemblies" / "prod" / "prod-text.template.json").is_file()


def test_findings_that_the_app_acknowledges_are_read(assembly: Path) -> None:
    data = {"Annotation::AwsSolutions-IAM5": "one key"}
    entries = [{"type": "aws:cdk:acknowledged-rules", "data": data}, {"type": "x"}]
    write_json(assembly / "a.metadata.json", {"/prod-text/Role": entries})
    assert read(assembly.parent, "prod").acknowledged == (
        "cdk-nag: prod-text/Role: AwsSolutions-IAM5: one key",
    )


def test_what_the_manifest_says_of_a_stack_is_read(assembly: Path) -> None:
    properties = {
        "templateFile": "a.template.json",
        "assumeRoleArn": "deploy",
        "stackTemplateAssetObjectUrl": "s3://assets/hash.json",
        "tags": {"team": "ml"},
    }
    write_manifest(assembly, "a", properties=properties, environment="aws://1/us-east-1")
    assert read(assembly.parent, "prod").settings == {
        "a": {
            "assumeRoleArn": "deploy",
            "environment": "aws://1/us-east-1",
            "folder of templates": "s3://assets",
            "tags": {"team": "ml"},
        }
    }


def leave_out(folder: Path) -> None:
    (folder / "a.template.json").unlink()


def link(folder: Path) -> None:
    write_json(folder.parent / "secret", TEMPLATE)
    leave_out(folder)
    (folder / "a.template.json").symlink_to(folder.parent / "secret")


def link_the_folder(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to(folder.with_name("elsewhere"))


def link_the_error(folder: Path) -> None:
    folder.with_name("secret").write_text("a secret")
    folder.with_name("prod.error").symlink_to(folder.with_name("secret"))


ASSET = {
    "source": {"path": "asset.0a1b", "packaging": "zip"},
    "destinations": {"here": {"bucketName": "assets", "objectKey": "prod/0a1b.zip"}},
}


def write_assets(folder: Path, images: Any = None, name: str = "a", **changes: Any) -> None:
    manifest = {"files": {"0a1b": {**ASSET, **changes}}, "dockerImages": images or {}}
    write_json(folder / f"{name}.assets.json", manifest)


def test_where_assets_are_published_is_a_setting_of_their_stack(assembly: Path) -> None:
    write_assets(assembly)
    (place,) = read(assembly.parent, "prod").settings["a"]["assets"]
    assert json.loads(place) == {"bucketName": "assets", "objectKey": "prod"}


ATTACKS: dict[str, tuple[Callable[[Path], object], str]] = {
    "nothing": (lambda folder: folder.rename(folder.with_name("other")), "no assembly of it"),
    "no manifest": (lambda folder: (folder / "manifest.json").unlink(), "cannot be read"),
    "a manifest of another form": (
        lambda folder: write_json(folder / "manifest.json", {"artifacts": ["a"]}),
        "has no artifacts",
    ),
    "a stack without its template": (leave_out, "cannot be read"),
    "a link to a file": (link, "cannot be read"),
    "a link to a folder": (link_the_folder, "is not a folder"),
    "a reason that is a link": (link_the_error, "cannot be read"),
    "a path to another folder": (
        lambda folder: write_manifest(folder, "../a"),
        "only stacks whose template is",
    ),
    "an absolute template": (
        lambda folder: write_manifest(folder, "a", properties={"templateFile": "/etc/passwd"}),
        "only stacks whose template is",
    ),
    "a template under another name": (
        lambda folder: write_manifest(folder, "b"),
        "only stacks whose template is",
    ),
    "a stack that is deployed by another name": (
        lambda folder: write_manifest(
            folder,
            "a",
            properties={**STACK["properties"], "stackName": "prod-text"},  # type: ignore[dict-item]
        ),
        "only stacks whose template is",
    ),
    "a nested assembly": (
        lambda folder: write_manifest(folder, "a", type="cdk:cloud-assembly"),
        "no nested assemblies",
    ),
    "a template of no stack": (
        lambda folder: write_json(folder / "b.nested.template.json", TEMPLATE),
        "b.nested.template.json: a template of no stack",
    ),
    "a nested stack": (
        lambda folder: write_json(
            folder / "a.template.json",
            {"Resources": {"Nested": {"Type": "AWS::CloudFormation::Stack"}}},
        ),
        "no template with resources",
    ),
    "a macro": (
        lambda folder: write_json(folder / "a.template.json", {**TEMPLATE, "Transform": ["x"]}),
        "has a transform",
    ),
    "a macro inside": (
        lambda folder: (folder / "a.template.json").write_text(
            json.dumps(
                {"Resources": {"Key": {"Type": "a", "Properties": {"a": {"Fn::Transform": {}}}}}}
            ).replace("Fn", "\\u0046n")
        ),
        "has a transform",
    ),
    "an asset that a program makes": (
        lambda folder: write_assets(folder, source={"executable": ["sh", "-c", "id"]}),
        "a.assets.json: an asset is a file or folder of the assembly",
    ),
    "an asset that a program makes beside its path": (
        lambda folder: write_assets(folder, source={"path": "a", "executable": ["id"]}),
        "or a program that makes it",
    ),
    "an asset outside of the assembly": (
        lambda folder: write_assets(folder, source={"path": "../../home/.aws"}),
        "another path",
    ),
    "an asset with an absolute path": (
        lambda folder: write_assets(folder, source={"path": "/etc"}),
        "another path",
    ),
    "an asset whose path is the assembly's parent": (
        lambda folder: write_assets(folder, source={"path": ".."}),
        "another path",
    ),
    "an asset that goes nowhere": (
        lambda folder: write_assets(folder, destinations={"here": "there"}),
        "an asset is a file or folder",
    ),
    "an image that whoever deploys builds": (
        lambda folder: write_assets(folder, images={"0a1b": {"source": {"directory": "."}}}),
        "no images",
    ),
    "assets of no stack": (
        lambda folder: write_assets(folder, name="b"),
        "b.assets.json: a template of no stack",
    ),
    "assets in a file of another name": (
        lambda folder: write_json(
            folder / "manifest.json",
            {
                "artifacts": {
                    "a": STACK,
                    "a.assets": {"type": "cdk:asset-manifest", "properties": {"file": "x.json"}},
                }
            },
        ),
        "only stacks whose template is",
    ),
    "a template with resources twice": (
        lambda folder: (folder / "a.template.json").write_text(
            f'{{"Resources": {{}}, {json.dumps(TEMPLATE)[1:]}'
        ),
        "is not JSON, or has a key twice",
    ),
    "resources of another form": (
        lambda folder: write_json(folder / "a.template.json", {"Resources": {"Key": "x"}}),
        "no template with resources",
    ),
    "a template that is too large": (
        lambda folder: (folder / "a.template.json").write_text(" " * (LARGEST + 1)),
        "is not a file of at most",
    ),
    "a template that is too deep": (
        lambda folder: (folder / "a.template.json").write_text("[" * 200_000),
        "is not JSON",
    ),
    "a template that is no text": (
        lambda folder: (folder / "a.template.json").write_bytes(b"\xff"),
        "is not UTF-8",
    ),
    "metadata of another form": (
        lambda folder: write_json(folder / "a.metadata.json", {"/a": [1]}),
        "no metadata of constructs",
    ),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_assembly_of_another_form_is_not_compared(assembly: Path, attack: str) -> None:
    assert read(assembly.parent, "prod").templates == {"a": TEMPLATE}
    change, reason = ATTACKS[attack]
    change(assembly)
    with pytest.raises(NotSynthesised, match=reason) as refused:
        read(assembly.parent, "prod")
    assert "secret" not in str(refused.value)
