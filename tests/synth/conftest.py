"""Templates of shipped and generated stages, each synthesised once per session."""

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App
from aws_cdk.assertions import Template
from aws_cdk.cx_api import CloudAssembly

from stacks import add_stacks, stage_stacks, synthesise
from stages import StageConfig, load_stage, stage_names
from stages.plan import StagePlan
from tests.synth.endpoints import SampleStack
from tests.synth.every_stage import every_stage

ROOT = Path(__file__).parents[2]
CONTEXT = {
    **json.loads((ROOT / "cdk.json").read_text())["context"],
    "aws:cdk:disable-creation-stack-traces": True,  # as in app.py
}

Assembly = Callable[[str], CloudAssembly]
Templates = Callable[[str], dict[str, dict[str, Any]]]


def add_stage(app: App, name: str, config: StageConfig | None = None) -> None:
    """Add the stacks of a stage; without `config`, of the shipped stage `name`."""
    add_stacks(app, StagePlan.of(name, config or load_stage(name)))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.synth)


@pytest.fixture(scope="session")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """Return the function that synthesises a shipped stage."""

    @functools.cache
    def synthesise_shipped(stage: str) -> CloudAssembly:
        app = App(context=CONTEXT, outdir=str(tmp_path_factory.mktemp(stage)), stack_traces=False)
        return synthesise(app, stage)

    return synthesise_shipped


@pytest.fixture(scope="session")
def every_assembly(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """Return the function that synthesises a stage of EVERY_STAGE."""

    @functools.cache
    def synthesise_generated(name: str) -> CloudAssembly:
        app = App(context=CONTEXT, outdir=str(tmp_path_factory.mktemp("every")), stack_traces=False)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stage_stacks, "load_stage", lambda name, _: every_stage(name))
            return synthesise(app, name)

    return synthesise_generated


@pytest.fixture(scope="session")
def templates(assembly: Assembly) -> Templates:
    """Return the function that returns the templates of a shipped stage by stack name."""
    return functools.cache(lambda stage: templates_of(assembly(stage)))


@pytest.fixture(scope="session")
def every_template(every_assembly: Assembly) -> Templates:
    """Return the function that returns the templates of a stage of EVERY_STAGE by stack name."""
    return functools.cache(lambda name: templates_of(every_assembly(name)))


def templates_of(assembly: CloudAssembly) -> dict[str, dict[str, Any]]:
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
def endpoint_template(templates: Templates) -> Template:
    """Return the template of the endpoint `text` of prod."""
    return Template.from_json(templates("prod")["prod-text"])


@pytest.fixture(scope="session")
def models_template(templates: Templates) -> Template:
    """Return the template of the models stack of prod."""
    return Template.from_json(templates("prod")["prod-models"])
