"""Templates of the shipped stages, each synthesised once a session."""

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App
from aws_cdk.assertions import Template

import app as stage_app
from stages import stage_names
from tests.synth.every_stage import every_stage

ROOT = Path(__file__).parents[2]
CONTEXT = json.loads((ROOT / "cdk.json").read_text())["context"]

Templates = Callable[[str], dict[str, dict[str, Any]]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.synth)


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """Return a stage's templates by stack name."""

    @functools.cache
    def synthesise(stage: str) -> dict[str, dict[str, Any]]:
        app = App(context=CONTEXT, outdir=str(tmp_path_factory.mktemp(stage)))
        stage_app.add_stacks(app, stage)
        return {stack.stack_name: stack.template for stack in app.synth().stacks}

    return synthesise


@pytest.fixture(scope="session")
def every_template(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """Return the templates of a stage that asks for much, by stack name."""

    @functools.cache
    def synthesise(name: str) -> dict[str, dict[str, Any]]:
        app = App(context=CONTEXT, outdir=str(tmp_path_factory.mktemp("every")))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stage_app, "load_stage", every_stage)
            stage_app.add_stacks(app, name)
        return {stack.stack_name: stack.template for stack in app.synth().stacks}

    return synthesise


@pytest.fixture(params=stage_names())
def stage(request: pytest.FixtureRequest) -> str:
    """Each shipped stage in turn."""
    return str(request.param)


@pytest.fixture(scope="session")
def endpoint_template(templates: Templates) -> Template:
    """The production text endpoint."""
    return Template.from_json(templates("prod")["prod-text"])


@pytest.fixture(scope="session")
def models_template(templates: Templates) -> Template:
    """What stays of the production stage."""
    return Template.from_json(templates("prod")["prod-models"])
