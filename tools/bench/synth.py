"""`cdk synth` of stages with many endpoints and with many models.

The endpoints are copies of `text` of prod; the alternative writes the same templates as raw
resources. Validation is the CDK's validation of templates; local deployments and reviews use
`--no-validation`. The models are served by one endpoint of dev; a row is of the table of one
folder. Their alternative is a stage with one model: the template of 10,000 models has the same
size.
"""

import gc
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from cli.new_model import PLACEHOLDER, TEMPLATES
from cli.new_stage import write
from tools.bench.turns import ROOT, Results, Turn, command

if TYPE_CHECKING:  # processes import only the code that they measure
    from aws_cdk import App

ENDPOINTS = {"1 endpoint": (1, 2), "100 endpoints": (100, 1)}
"""Number of the endpoints, and turns, by case."""
RECIPE = """\
description: A model for each row
for_each: rows.csv
files:
  model/1/weights.json: { to: copy, weights: "weights/{name}.json" }
"""
CODE = """\
class TritonPythonModel:
    def execute(self, requests):
        return []
"""


def run(results: Results) -> None:
    """Synthesise endpoints as constructs and as raw resources, and endpoints of many models."""
    with TemporaryDirectory() as scratch:
        for case, (number, turns) in [*ENDPOINTS.items()][: 1 if results.quick else None]:
            ours, raw = Path(scratch, case, "ours"), Path(scratch, case, "raw")
            for validation in ("validation", "no-validation"):
                sides = {
                    "constructs": partial(_synth, "endpoints", number, to=ours, option=validation),
                    "raw resources": partial(_synth, "raw", ours, to=raw, option=validation),
                }
                results.alternate(f"{case}, --{validation}", sides, turns)
            assert templates(ours) == templates(raw)
        for case, write_models, number in (
            ("folders", write_folders, 100 if results.quick else 1_000),
            ("rows of a table", write_table, 1_000 if results.quick else 10_000),
        ):
            sides = {}
            for count in (number, 1):
                fleet, output = Path(scratch, f"{count} {case}"), Path(scratch, case, str(count))
                write_stage(fleet, write_models(fleet / "models", count))
                side = partial(_synth, "fleet", fleet, to=output, option="no-validation")
                sides[f"{count:,} {case}"] = side
            results.alternate(f"models as {case}", sides, 2)


def write_folders(models: Path, count: int) -> list[str]:
    """Write models that differ only in their names; return the names."""
    template = TEMPLATES / "python"
    files = [path for path in template.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    names = [f"model-{number:05}" for number in range(count)]
    for name in names:
        for path in files:
            target = models / name / str(path.relative_to(template)).replace(PLACEHOLDER, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(path.read_text().replace(PLACEHOLDER, name))
    return names


def write_table(models: Path, count: int) -> list[str]:
    """Write a model with a table; return its name."""
    names = write_folders(models, 1)
    (folder,) = models.iterdir()
    rows = [f"row-{number:05}" for number in range(count)]
    (folder / folder.name / "1" / "model.py").write_text(CODE)
    (folder / "weights").mkdir()
    for row in rows:
        (folder / "weights" / f"{row}.json").write_text(f'"{row}"')
    (folder / "rows.csv").write_text("".join(f"{row}\n" for row in ("name", *rows)))
    (folder / "recipe.yaml").write_text(RECIPE.replace("model/1", f"{folder.name}/1"))
    return names


def write_stage(folder: Path, models: list[str]) -> None:
    """Write the stage `fleet` with one endpoint of these models."""
    stages = folder / "stages"
    stages.mkdir()
    (stages / "dev.yaml").write_text((ROOT / "stages" / "dev.yaml").read_text())
    write("fleet", "dev", [f"all={','.join(models)}"], stages=stages, models=folder / "models")


def templates(folder: Path) -> dict[str, Any]:
    """Return the templates of a cloud assembly, by stack."""
    return {
        path.name.partition(".")[0]: json.loads(path.read_text())
        for path in sorted(folder.glob("*.template.json"))
    }


def add_endpoints(app: "App", count: str) -> None:
    """Add the stacks of prod, with `count` copies of the endpoint `text` as its endpoints."""
    from stacks import add_stacks
    from stages import load_stage
    from stages.plan import PlannedStage

    stage = load_stage("prod")
    endpoints = {f"text-{number:03}": stage.endpoints["text"] for number in range(int(count))}
    add_stacks(app, PlannedStage.of("prod", stage.model_copy(update={"endpoints": endpoints})))


def add_fleet(app: "App", folder: str) -> None:
    """Add the stacks of the stage and the models that stand in a folder."""
    from stacks import add_stacks
    from stages import load_stage, plan

    plan.MODELS = Path(folder, "models")
    add_stacks(app, plan.PlannedStage.of("fleet", load_stage("fleet", Path(folder, "stages"))))


def add_raw(app: "App", folder: str) -> None:
    """Add the stacks of an assembly, resource by resource."""
    from aws_cdk import CfnOutput, CfnResource, Environment, Stack, Token

    for name, template in templates(Path(folder)).items():
        stack = Stack(app, name, env=Environment(region="us-east-1"))
        for key, value in template.get("Metadata", {}).items():
            stack.add_metadata(key, value)
        for logical_id, content in template["Resources"].items():
            kind, properties = content.pop("Type"), content.pop("Properties", None)
            resource = CfnResource(stack, logical_id, type=kind, properties=properties)
            for key, value in content.items():
                resource.add_override(key, value)
        for logical_id, content in template.get("Outputs", {}).items():
            value, export = Token.as_string(content["Value"]), content.get("Export", {}).get("Name")
            CfnOutput(stack, logical_id, value=value, export_name=export)


ADDITIONS: dict[str, Callable[["App", str], None]] = {
    "endpoints": add_endpoints,
    "fleet": add_fleet,
    "raw": add_raw,
}


def _synth(kind: str, argument: object, *, to: Path, option: str) -> Turn:
    app = f"{sys.executable} -m tools.bench.synth {kind} '{argument}'"
    return command("cdk", "synth", "--quiet", f"--{option}", "--app", app, "--output", to)


def _run_app(kind: str, argument: str) -> None:
    from aws_cdk import App

    app = App(context={"aws:cdk:disable-creation-stack-traces": True}, stack_traces=False)
    ADDITIONS[kind](app, argument)
    app.synth()


if __name__ == "__main__":
    gc.disable()  # as in app.py
    _run_app(*sys.argv[1:])
