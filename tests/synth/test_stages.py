"""Whole stages: what a pull request's template diff rests on."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Environment
from aws_cdk.assertions import Template
from syrupy.assertion import SnapshotAssertion

from model_build import BuildError
from stacks import EndpointStack, ModelStack
from stages import Stage
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
        "error: no stage 'prdo': did you mean prod? stages are dev, examples, local, prod (one "
        "YAML file each in stages/); write for example: cdk synth -c stage=dev\n"
    )


def _text_endpoint(instance_type: str) -> Template:
    endpoint = {"models": ["minilm"], "instance_type": instance_type}
    stage = Stage.model_validate(
        {"region": "us-east-1", "release": "25.09", "endpoints": {"text": endpoint}}
    )
    app, env = App(), Environment(region="us-east-1")
    stack = EndpointStack(
        app,
        "dev-text",
        stage_name="dev",
        stage=stage,
        endpoint_name="text",
        endpoint=stage.endpoints["text"],
        models=ModelStack(app, "dev-models", env=env),
        network=None,
        env=env,
    )
    return Template.from_stack(stack)


def test_an_engine_for_a_gpu_that_the_builder_cannot_compile_for_is_refused() -> None:
    with pytest.raises(BuildError) as raised:
        _text_endpoint("ml.g4dn.xlarge")
    assert str(raised.value) == (
        "stages/dev.yaml: endpoints.text: models/minilm/recipe.yaml: encoder/1/model.plan: an "
        "engine for compute capability 7.5 cannot be compiled on a builder with 8.6: TensorRT "
        "compiles across kinds of GPUs from 8.0 up only. Choose an instance type with a GPU of 8.0 "
        "or newer (ml.g5 has 8.6), or serve the model as ONNX or TorchScript, which need no engine"
    )


def test_a_newer_gpu_gets_an_engine_of_its_own_prefix() -> None:
    _text_endpoint("ml.g6.xlarge").has_resource_properties(
        "Custom::TritonModel", {"Target": "cuda-25.09-sm89"}
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
