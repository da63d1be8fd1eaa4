"""Snapshots and consistency of whole stages."""

import json
import re
import runpy
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import pytest
from aws_cdk import App
from syrupy.assertion import SnapshotAssertion

from model_build import BuildError
from platform_facts.rules import checked_yaml
from stacks import stage_stacks, synthesise
from stages import load_stage
from stages.schema.names import STACKS
from tests.synth.conftest import CONTEXT, ROOT, add_stage, assembly_of, templates_of
from tests.synth.every_stage import every_stage

HASH = re.compile(r"\b[0-9a-f]{64}\b")


@pytest.mark.parametrize("stack", ["models", "network", "text"])
def test_templates_match_the_snapshot(stack: str, snapshot: SnapshotAssertion) -> None:
    # Other endpoints and stages have the same resources; other tests assert the differences.
    template = normalised(templates_of("prod")[f"prod-{stack}"])
    assert template == snapshot, (
        "the template differs: if this is intended, run python -m pytest "
        "tests/synth/test_stages.py --snapshot-update, and review git diff"
    )


@pytest.mark.parametrize(("stage", "other"), [("dev", "prod"), ("local", "examples")])
def test_models_stack_does_not_depend_on_the_stage(stage: str, other: str) -> None:
    models = json.dumps(templates_of(stage)[f"{stage}-models"])
    assert _without_alarms_and_logs(
        json.loads(models.replace(stage, other))
    ) == _without_alarms_and_logs(templates_of(other)[f"{other}-models"])


def test_stacks_have_account_and_region_of_the_stage() -> None:
    # Not the account and region of the caller's credentials.
    environments = [stack.environment for stack in assembly_of("local").stacks]
    assert {(env.account, env.region) for env in environments} == {("000000000000", "us-east-1")}


def test_models_stack_contains_no_model_name(stage: str) -> None:
    # CloudFormation cannot change exports in use, so the exporting stack must not depend on models.
    assert "minilm" not in json.dumps(templates_of(stage)[f"{stage}-models"])


def test_every_stack_name_is_reserved_or_an_endpoint() -> None:
    names = {*STACKS, *every_stage("all").endpoints}
    assert templates_of("all").keys() == {f"all-{name}" for name in names}


def test_stage_name_with_hyphen_has_no_nag_findings(tmp_path: Path) -> None:
    app = App(context=CONTEXT, outdir=str(tmp_path))
    add_stage(app, "eu-dev", load_stage("dev"))
    assert "eu-dev-text" in {stack.stack_name for stack in app.synth().stacks}


@pytest.mark.parametrize(
    "error",
    [
        checked_yaml.InvalidFile([checked_yaml.FileProblem(Path("a.yaml"), 3, "region", "none")]),
        BuildError("models/minilm: no such model"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_error_ends_the_synth_without_traceback(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(sys, "argv", ["app.py"])
    monkeypatch.setattr(stage_stacks, "load_stage", fail)
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(ROOT / "app.py"), run_name="__main__")
    assert end.value.code == f"error: {error}"


INVALID_STAGE = """\
region: us-east-1
release: "25.09"
endpoints:
  text:
    models:
      - minilm
      - mimilm
      - resnet
    instance_type: ml.g4dn.xlarge
"""


def test_stack_errors_have_line_and_key() -> None:
    lines = synth_error(INVALID_STAGE).splitlines()
    assert [line.partition(" models are ")[0] for line in lines] == [
        "stages/wrong.yaml:7: endpoints.text.models.1: no model 'mimilm' in models: did you mean "
        "minilm?",
        "stages/wrong.yaml:8: endpoints.text.models.2: no model 'resnet' in models: did you mean "
        "resnet50?",
    ]
    without_gpu_support = INVALID_STAGE.replace("      - mimilm\n      - resnet\n", "")
    assert synth_error(without_gpu_support).startswith(
        "stages/wrong.yaml:6: endpoints.text.models.0: models/minilm/recipe.yaml: "
        "encoder/1/model.plan: an engine for compute capability 7.5 cannot be compiled"
    )


def test_construct_errors_have_line_and_key() -> None:
    valid = INVALID_STAGE.replace("      - mimilm\n      - resnet\n", "").replace("g4dn", "g5")
    slow_update = "    update: { strategy: linear, percent: 10, wait_seconds: 3600 }\n"
    assert synth_error(valid + slow_update).startswith(
        "stages/wrong.yaml:8: endpoints.text.update.wait_seconds: up to 9 waits of 3600 s"
    )


def synth_error(content: str) -> str:
    """Return the error of a synth of a stage file."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "stages", "wrong.yaml")
        file.parent.mkdir()
        file.write_text(content)
        with pytest.raises(checked_yaml.InvalidFile) as raised:
            synthesise(App(context=CONTEXT, outdir=folder), "wrong", folder=file.parent)
        return str(raised.value).replace(f"{folder}/", "")


def _without_alarms_and_logs(template: dict[str, Any]) -> dict[str, Any]:
    """Drop alarm topics, budgets and log groups, which differ by stage."""
    resources = {
        name: resource
        for name, resource in template["Resources"].items()
        if not name.startswith(("Alarms", "Budget", "Log"))
    }
    result: dict[str, Any] = _in_fixed_order({**template, "Resources": resources})
    return result


def _in_fixed_order(value: Any) -> Any:
    """Sort the resources of policies by text without hashes: the CDK sorts with hashes."""
    if isinstance(value, list):
        return [_in_fixed_order(part) for part in value]
    if not isinstance(value, dict):
        return value
    ordered = {name: _in_fixed_order(part) for name, part in value.items()}
    if isinstance(ordered.get("Resource"), list):
        ordered["Resource"].sort(key=lambda item: HASH.sub("", json.dumps(item)))
    return ordered


def normalised(template: dict[str, Any]) -> dict[str, Any]:
    """Replace asset hashes, which change with the code, by numbers in order of appearance."""
    text = json.dumps(_in_fixed_order(template))
    for number, digest in enumerate(dict.fromkeys(HASH.findall(text))):
        text = text.replace(digest, f"<hash {number}>").replace(digest[:12], f"<version {number}>")
    result: dict[str, Any] = json.loads(text)
    return result
