"""Templates of shipped and generated stages, each synthesised once per session."""

import functools
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from aws_cdk import App
from aws_cdk.assertions import Template
from aws_cdk.cx_api import CloudAssembly

from stacks import add_stacks, stage_stacks, synthesise
from stages import StageConfig, load_stage, stage_names
from stages.plan import PlannedStage
from tests.synth.endpoints import SampleStack
from tests.synth.every_stage import EVERY_STAGE, every_stage

ROOT = Path(__file__).parents[2]
CONTEXT = {
    **json.loads((ROOT / "cdk.json").read_text())["context"],
    "aws:cdk:disable-creation-stack-traces": True,  # as in app.py
}

FOLDER = TemporaryDirectory(prefix="synth-")
"""The assemblies of this process."""


def add_stage(app: App, name: str, config: StageConfig | None = None) -> None:
    """Add the stacks of a stage; without `config`, of the shipped stage `name`."""
    add_stacks(app, PlannedStage.of(name, config or load_stage(name)))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.synth)


@functools.cache
def assembly_of(stage: str) -> CloudAssembly:
    """Synthesise a shipped stage or a stage of EVERY_STAGE."""
    app = App(context=CONTEXT, outdir=str(Path(FOLDER.name, stage)), stack_traces=False)
    with pytest.MonkeyPatch.context() as patch:
        if stage in EVERY_STAGE:
            patch.setattr(stage_stacks, "load_stage", lambda name, _: every_stage(name))
        return synthesise(app, stage)


@functools.cache
def templates_of(stage: str) -> dict[str, dict[str, Any]]:
    """Return stack name -> template of such a stage."""
    return templates_in(assembly_of(stage))


def templates_in(assembly: CloudAssembly) -> dict[str, dict[str, Any]]:
    """Return stack name -> template."""
    return {stack.stack_name: stack.template for stack in assembly.stacks}


@pytest.fixture
def sample() -> SampleStack:
    """Return a stack with a model bucket in us-east-1."""
    return SampleStack()


@pytest.fixture(params=stage_names())
def stage(request: pytest.FixtureRequest) -> str:
    """Return the name of each shipped stage."""
    return str(request.param)


@pytest.fixture(scope="session")
def endpoint_template() -> Template:
    """Return the template of the endpoint `text` of prod."""
    return Template.from_json(templates_of("prod")["prod-text"])


@pytest.fixture(scope="session")
def models_template() -> Template:
    """Return the template of the models stack of prod."""
    return Template.from_json(templates_of("prod")["prod-models"])
