"""Whole stages: what a pull request's template diff rests on."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from syrupy.assertion import SnapshotAssertion

from tests.synth.conftest import ROOT, Templates


def test_templates_are_as_reviewed(
    stage: str, templates: Templates, snapshot: SnapshotAssertion
) -> None:
    for name, template in templates(stage).items():
        assert normalised(template) == snapshot(name=name)


def test_two_synths_are_byte_identical(stage: str, tmp_path: Path) -> None:
    first, second = (_start_synth(stage, tmp_path / name) for name in ("first", "second"))
    assert first.wait() == second.wait() == 0
    assert _files(tmp_path / "first") == _files(tmp_path / "second")


def test_synth_needs_no_credentials(tmp_path: Path) -> None:
    # _start_synth hands on no AWS_ variable at all.
    assert _start_synth("prod", tmp_path).wait() == 0


def test_model_stack_knows_no_model(stage: str, templates: Templates) -> None:
    # CloudFormation refuses to change an export that is in use, so what changes with a model must
    # not stand in the stack that exports.
    assert "minilm" not in json.dumps(templates(stage)[f"{stage}-models"])


def test_unknown_stage_is_one_line_with_the_stages_there_are() -> None:
    finished = subprocess.run(
        [sys.executable, "app.py"],
        cwd=ROOT,
        env={**os.environ, "CDK_CONTEXT_JSON": '{"stage": "prdo"}'},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 1
    assert finished.stderr == (
        "error: no stage 'prdo': did you mean prod? stages are dev, examples, local, prod (one YAML file "
        "each in stages/); write for example: cdk synth -c stage=dev\n"
    )


def normalised(template: dict[str, Any]) -> dict[str, Any]:
    """Name assets by order of appearance: their hashes change with every line of code in them."""
    text = json.dumps(template)
    for number, digest in enumerate(dict.fromkeys(re.findall(r"\b[0-9a-f]{64}\b", text))):
        text = text.replace(digest, f"<hash {number}>").replace(digest[:12], f"<version {number}>")
    result: dict[str, Any] = json.loads(text)
    return result


def _start_synth(stage: str, to: Path) -> "subprocess.Popen[bytes]":
    context = json.loads((ROOT / "cdk.json").read_text())["context"] | {"stage": stage}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment = {**kept, "CDK_OUTDIR": str(to), "CDK_CONTEXT_JSON": json.dumps(context)}
    return subprocess.Popen([sys.executable, "app.py"], cwd=ROOT, env=environment)


def _files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
