"""The templates that are changed: those of a shipped stage, and of a stage with all features."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from aws_cdk import App

from plan.document import Plan
from release.checkout import CLI_CONTEXT
from release.templates import Template, templates
from review.dangers.resources import resource_paths
from stacks import add_stacks
from stages import StageConfig, load_stage
from stages.plan import PlannedStage
from tests.synth.every_stage import EVERY_STAGE, every_stage

ROOT = Path(__file__).parents[2]
NAMES = ("prod", "all")


@dataclass(frozen=True, eq=False)
class SynthesisedStage:
    """A stage's plan, and its templates by stack."""

    name: str
    plan: Plan
    templates: dict[str, Template]


@cache
def synthesised(name: str) -> SynthesisedStage:
    """Return a stage, synthesised as in the review; cached for the process."""
    stage = _stage(name)
    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    quiet = {"aws:cdk:disable-creation-stack-traces": True}
    with TemporaryDirectory(prefix="review-changes-") as folder:
        app = App(context={**context, **CLI_CONTEXT, **quiet}, outdir=folder, stack_traces=False)
        planned = PlannedStage.of(name, stage)
        add_stacks(app, planned)
        app.synth()
        return SynthesisedStage(name, planned.plan, templates(Path(folder)))


def _stage(name: str) -> StageConfig:
    return every_stage(name) if name in EVERY_STAGE else load_stage(name)


def written_resources() -> dict[str, list[str]]:
    """Return type -> paths of properties in all templates of the shipped stages and every feature.

    `python -m tests.review_changes.known` writes them to review/dangers/known_resources.json.
    """
    paths: dict[str, set[str]] = {}
    for name in (*EVERY_STAGE, *(path.stem for path in (ROOT / "stages").glob("*.yaml"))):
        for template in synthesised(name).templates.values():
            for resource in template["Resources"].values():
                kind = resource["Type"]
                paths.setdefault(kind, set()).update(resource_paths(kind, resource))
    return {kind: sorted(paths[kind]) for kind in sorted(paths)}
