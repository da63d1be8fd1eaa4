"""CloudFormation limits of templates, and errors of stages that exceed them."""

import dataclasses
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aws_cdk import App
from aws_cdk.cx_api import CloudAssembly

from model_build import ModelPlan
from platform_facts.rules import checked_yaml
from stacks import synthesise
from stacks.template_limits import MAX_BYTES, MAX_RESOURCES, check_templates
from stages import plan
from tests.synth.conftest import CONTEXT, ROOT

Synth = Callable[[int], CloudAssembly]


@pytest.fixture
def synth(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Synth:
    """Return the function that synthesises an endpoint with a number of models."""
    folder = tmp_path / "stages"
    folder.mkdir()
    minilm = plan.planned_model("minilm")

    def renamed(name: str) -> ModelPlan:
        return dataclasses.replace(
            minilm, name=name, digest=hashlib.sha256(name.encode()).hexdigest()
        )

    monkeypatch.setattr(plan, "planned_model", renamed)

    def synthesise_models(models: int) -> CloudAssembly:
        endpoint = {
            "instance_type": "ml.g5.xlarge",
            "models": [f"model-{number:03}" for number in range(models)],
        }
        stage = {"region": "us-east-1", "release": "25.09", "endpoints": {"text": endpoint}}
        (folder / "many.yaml").write_text(json.dumps(stage, indent=1))
        outdir = str(tmp_path / f"{models}")
        app = App(context=CONTEXT, outdir=outdir, stack_traces=False)
        return synthesise(app, "many", folder=folder)

    return synthesise_models


def template(assembly: CloudAssembly) -> bytes:
    """Return the template of the endpoint as uploaded by the CDK CLI."""
    (stack,) = (stack for stack in assembly.stacks if stack.stack_name == "many-text")
    return Path(stack.template_full_path).read_bytes()


def test_490_models_fit_in_the_limits(synth: Synth) -> None:
    content = template(synth(490))
    assert len(json.loads(content)["Resources"]) == MAX_RESOURCES
    assert len(content) < MAX_BYTES


def test_too_many_models_are_an_error_at_their_line(synth: Synth) -> None:
    with pytest.raises(checked_yaml.InvalidFile) as raised:
        synth(491)
    (problem,) = raised.value.problems
    assert (problem.path.name, problem.line) == ("many.yaml", 7)
    assert str(problem).partition(": ")[2] == (
        "endpoints.text.models: the template of many-text has 501 resources, CloudFormation takes "
        f"{MAX_RESOURCES}: serve some of the models from another endpoint of the stage"
    )


PROGRAM = """
import json, sys
from aws_cdk import App, CfnResource, Stack
from stacks.template_limits import disable_cdk_limits

app = App(context=json.load(open("cdk.json"))["context"], outdir=sys.argv[1])
disable_cdk_limits(app)
stack = Stack(app, "many")
for number in range(501):
    CfnResource(stack, f"Handle{number}", type="AWS::CloudFormation::WaitConditionHandle")
app.synth()
"""


def test_resource_limit_of_the_cdk_is_disabled(tmp_path: Path) -> None:
    # The validation of the CDK, off in other tests, would end with a traceback.
    environment = {name: value for name, value in os.environ.items() if name != "CDK_VALIDATION"}
    subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], cwd=ROOT, env=environment, check=True
    )
    assert len(json.loads((tmp_path / "many.template.json").read_text())["Resources"]) == 501


def test_template_above_the_byte_limit_is_an_error(tmp_path: Path) -> None:
    assert limit_errors(tmp_path, "prod-text", MAX_BYTES) == []
    assert limit_errors(tmp_path, "prod-text", MAX_BYTES + 1) == [
        (
            ("endpoints", "text", "models"),
            "the template of prod-text has 1,000,001 bytes, CloudFormation takes "
            "1,000,000: serve some of the models from another endpoint of the stage",
        )
    ]
    ((keys, message),) = limit_errors(tmp_path, "prod-models", MAX_BYTES + 1)
    assert keys == ("endpoints",)
    assert message.endswith("write some endpoints into the file of another stage")


def limit_errors(folder: Path, stack: str, size: int) -> list[tuple[checked_yaml.Keys, str]]:
    """Return the errors of a stack of prod with a template of `size` bytes."""
    file = folder / "template.json"
    file.write_bytes(b'{"Resources": {}}'.ljust(size))
    assembly: Any = SimpleNamespace(
        stacks=[SimpleNamespace(stack_name=stack, template_full_path=str(file))]
    )
    try:
        check_templates("prod", assembly)
    except checked_yaml.LocatedErrors as error:
        return error.errors
    return []
