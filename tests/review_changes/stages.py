"""The templates that are changed: those of a shipped stage, and of a stage with all features."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from aws_cdk import App

from release.checkout import CLI_CONTEXT, StageFile
from release.templates import Template, templates
from stacks import add_stacks
from stages import StageConfig, load_stage
from stages.plan import StagePlan
from tests.synth.every_stage import EVERY_STAGE, every_stage

ROOT = Path(__file__).parents[2]
NAMES = ("prod", "all")


@dataclass(frozen=True, eq=False)
class SynthesisedStage:
    """A stage's templates by stack, and the settings in its file that the review reads."""

    name: str
    file: StageFile
    templates: dict[str, Template]


@cache
def synthesised(name: str) -> SynthesisedStage:
    """Return a stage, synthesised as in the review; cached for the process."""
    stage = _stage(name)
    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    quiet = {"aws:cdk:disable-creation-stack-traces": True}
    with TemporaryDirectory(prefix="review-changes-") as folder:
        app = App(context={**context, **CLI_CONTEXT, **quiet}, outdir=folder, stack_traces=False)
        add_stacks(app, StagePlan.of(name, stage))
        app.synth()
        file = StageFile(region=stage.region, production=stage.production, account=stage.account)
        return SynthesisedStage(name, file, templates(Path(folder)))


def _stage(name: str) -> StageConfig:
    return every_stage(name) if name in EVERY_STAGE else load_stage(name)
