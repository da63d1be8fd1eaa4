"""Secrets that a change adds: dangers, and masks in every output."""

import json
from pathlib import Path

import pytest

from release.assemblies import SynthesisedCheckout
from release.checkout import GitCheckout
from review.change_review import review_change
from review.output_files import JSON, MARKDOWN, write_outputs
from review.secrets import RULE, masked, parts_to_mask
from review.template_changes import Note
from tests.unit.conftest import commit
from tests.unit.review.conftest import PROD, write_file
from tests.unit.review.resources import RESOURCES

GITHUB = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
PASSWORD = "hunter2&secret"
DIGEST = "0a" * 32

SECRETS = {
    "password in a stage": (
        "stages/prod.yaml",
        f"environment: {{ DB_PASSWORD: {PASSWORD} }}\n",
        PASSWORD,
    ),
    "token in a workflow": (".github/workflows/x.yml", f"env:\n  X: {GITHUB}\n", GITHUB),
    "token with a plain name": (
        "stages/prod.yaml",
        "environment: { HF_TOKEN: zk3lqwe9rtyu8opasd }\n",
        "zk3lqwe9rtyu8opasd",
    ),
    "key in code": ("app/x.py", "KEY = 'AKIAJ2X7QK5RVY4ZTB6A'\n", "AKIAJ2X7QK5RVY4ZTB6A"),
    "parameter of a model": (
        "models/m/config.pbtxt",
        'parameters { key: "api_token" value { string_value: "zk3lqwe9rtyu8opasd" } }\n',
        "zk3lqwe9rtyu8opasd",
    ),
}
HARMLESS = {
    "stages/prod.yaml": f"digest: sha256:{DIGEST}\nrole: arn:aws:iam::111111111111:role/secret\n",
    "models/m/recipe.yaml": f"files: {{ tokenizer.json: {DIGEST} }}\n",
    "requirements.txt": f"six==1.17.0 --hash=sha256:{DIGEST}\n",
    "docs/leaks.md": "AKIAIOSFODNN7EXAMPLE: wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n",
    "cdk.json": '{"context": {"core:checkSecretUsage": true}}',
}


def write_tree(root: Path, path: str, content: str, variable: str) -> SynthesisedCheckout:
    """Return a clone with a file, and a template with an environment variable."""
    clone = GitCheckout(root / "tree")
    write_file(clone, "stages/prod.yaml", "region: us-east-1\n")
    write_file(clone, path, content)
    clone.git("init", "--quiet")
    commit(clone)
    assembly = root / "assemblies" / "prod"
    assembly.mkdir(parents=True)
    PROD.write(assembly)
    project = {
        "Type": "AWS::CodeBuild::Project",
        "Properties": {
            "Environment": {"EnvironmentVariables": [{"Name": "DB_PASSWORD", "Value": variable}]}
        },
    }
    template = {"Resources": {**RESOURCES, "Project": project}}
    (assembly / "prod-text.template.json").write_text(json.dumps(template))
    stack = {
        "type": "aws:cloudformation:stack",
        "properties": {"templateFile": "prod-text.template.json"},
    }
    manifest = {"artifacts": {"prod-text": stack}}
    (assembly / "manifest.json").write_text(json.dumps(manifest))
    return SynthesisedCheckout(clone.root, root / "assemblies")


def outputs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str, content: str, variable: str = ""
) -> tuple[list[str], str]:
    """Return the messages about secrets of a change, and all that the review writes."""
    base = write_tree(tmp_path / "base", path, "", "")
    head = write_tree(tmp_path / "head", path, content, variable)
    report = review_change(base, head, name="main", stages=["prod"])
    write_outputs(report, tmp_path)
    texts = [(tmp_path / name).read_text() for name in (MARKDOWN, JSON)]
    dangers = [danger.message for danger in report.open_dangers if danger.rule == RULE]
    return dangers, "".join((*texts, *capsys.readouterr()))


@pytest.mark.parametrize("title", SECRETS)
def test_secret_is_a_danger_and_not_printed(
    title: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, content, secret = SECRETS[title]
    (message,), text = outputs(tmp_path, capsys, path, content)
    assert message.startswith(f"{path}: ")
    assert secret not in text


def test_secret_in_a_template_is_masked_in_the_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = "correct-horse-9-battery"
    (message,), text = outputs(tmp_path, capsys, "x.txt", "text", secret)
    assert message.startswith("prod-text.template.json: DB_PASSWORD: a secret (")
    assert "<secret>" in text
    assert not [part for part in ("correct-", "9-battery") if part in text]


@pytest.mark.parametrize("path", HARMLESS)
def test_digest_is_not_a_secret(
    path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert outputs(tmp_path, capsys, path, HARMLESS[path])[0] == []


def test_logical_id_is_not_a_secret(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "Aq7Zb3Xk9Lm2Pw5Rt8Yv1Nc4"
    assert outputs(tmp_path, capsys, "x.txt", "text", name)[0] != []
    name_of_resource = next(iter(RESOURCES))
    assert outputs(tmp_path / "2", capsys, "x.txt", "text", name_of_resource)[0] == []


def test_part_of_a_cut_secret_is_masked() -> None:
    secrets = parts_to_mask([PASSWORD], "a text of the base")
    assert masked({"a": ["x hunter2&s… hunter"]}, secrets) == {"a": ["x <secret>… hunter"]}
    assert masked(f"{PASSWORD}, {PASSWORD}", secrets) == "<secret>, <secret>"
    assert masked(Note("prod", [PASSWORD]), secrets) == Note("prod", ["<secret>"])


def test_word_of_the_base_in_a_secret_is_not_masked_elsewhere() -> None:
    secrets = parts_to_mask(["Endpoint-x9!kq"], "prod-text/Endpoint/Role")
    assert masked("Endpoint: Endpoint-x9!kq", secrets) == "Endpoint: <secret>"


def test_host_of_a_webhook_is_not_masked() -> None:
    url = "https://hooks.slack.com/services/T0VNT61W11U/vodZqvzBTlUUIpRB6W"
    assert masked(url, parts_to_mask([url], "")) == "https://hooks.slack.com/<secret>"
