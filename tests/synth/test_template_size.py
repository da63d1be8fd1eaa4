"""Templates whose size does not depend on the number of models."""

import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk.assertions import Template
from aws_cdk.cx_api import CloudAssembly

from model_build import ModelPlan
from platform_facts.rules.builds import BuildItem
from stacks import synthesise
from stages import plan
from tests.synth.conftest import CONTEXT
from tests.synth.endpoints import model_stack, trial_stage
from triton_sagemaker import ModelCatalog, ModelEntry

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


def test_template_does_not_depend_on_the_number_of_models(synth: Synth) -> None:
    templates = [template(synth(count)) for count in (1, 100)]
    assert len({len(content) for content in templates}) == 1
    assert len(json.loads(templates[0])["Resources"]) <= 60
    assert len(templates[0]) <= 100_000


def test_lists_of_10_000_models_are_two_resources() -> None:
    def template(count: int) -> str:
        app = App(context=CONTEXT)
        models = model_stack(app, trial_stage())
        stack = Stack(app, "Text", env=Environment(region="us-east-1"))
        items, entries = [], []
        for number in range(count):
            name, digest = f"model-{number:05}", f"{number:064}"
            key = f"text/cpu-25.09/{name}-{digest[:12]}.tar.gz"
            source = "trial/0a1b.zip"
            items.append(
                BuildItem(source=source, model=name, digest=digest, target="cpu-25.09", key=key)
            )
            entries.append(
                ModelEntry(
                    model=name,
                    version=digest[:12],
                    endpoint="text",
                    target_model=key.rpartition("/")[2],
                    signature={"inputs": [], "outputs": [], "max_batch_size": 0},
                )
            )
        builds = models.builder.build_all(stack, "Archives", items)
        catalog = ModelCatalog(stack, "Catalog", stage="trial", endpoint="text", entries=entries)
        catalog.publish(writer=models.catalog_writer, after=[builds])
        return json.dumps(Template.from_stack(stack).to_json())

    templates = [template(count) for count in (1, 10_000)]
    assert len(templates[0]) == len(templates[1])
    assert len(json.loads(templates[0])["Resources"]) == 2
