"""`cdk synth` of stages, compared with the same templates written as raw resources.

The endpoints are copies of `text` of prod; the 240 models belong to `text` of dev. Validation is
the CDK's validation of templates; local deployments and reviews use `--no-validation`.
"""

import dataclasses
import hashlib
import json
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from tools.bench.turns import Results, Turn, command

if TYPE_CHECKING:  # processes import only the code that they measure
    from aws_cdk import App

CASES = {
    "1 endpoint": ("endpoints", 1, 2),
    "20 endpoints": ("endpoints", 20, 2),
    "100 endpoints": ("endpoints", 100, 1),
    "240 models": ("models", 240, 1),
}
"""Kind and number of the elements, and turns, by case."""


def run(results: Results) -> None:
    """Synthesise each case with this project's constructs and with raw resources."""
    with TemporaryDirectory() as scratch:
        for case, (kind, number, turns) in [*CASES.items()][: 1 if results.quick else None]:
            ours, raw = Path(scratch, case, "ours"), Path(scratch, case, "raw")
            for validation in ("validation", "no-validation"):
                sides = {
                    "constructs": partial(_synth, kind, number, to=ours, option=validation),
                    "raw resources": partial(_synth, "raw", ours, to=raw, option=validation),
                }
                results.alternate(f"{case}, --{validation}", sides, turns)
            assert templates(ours) == templates(raw)


def templates(folder: Path) -> dict[str, Any]:
    """Return the templates of a cloud assembly, by stack."""
    return {
        path.name.partition(".")[0]: json.loads(path.read_text())
        for path in sorted(folder.glob("*.template.json"))
    }


def add_endpoints(app: "App", count: str) -> None:
    """Add the stacks of prod, with `count` copies of the endpoint `text` as its endpoints."""
    _add_stage(app, "prod", {f"text-{number:03}": {} for number in range(int(count))})


def add_models(app: "App", count: str) -> None:
    """Add the stacks of dev, with one endpoint that serves `count` copies of `minilm`."""
    from stages import plan

    minilm = plan.planned_model("minilm")

    def model(name: str) -> Any:
        digest = hashlib.sha256(name.encode()).hexdigest()
        return dataclasses.replace(minilm, name=name, digest=digest)

    with patch.object(plan, "planned_model", model):
        models = [f"model-{number:03}" for number in range(int(count))]
        _add_stage(app, "dev", {"text": {"models": models}})


def _add_stage(app: "App", name: str, endpoints: dict[str, dict[str, Any]]) -> None:
    from stacks import add_stacks
    from stages import load_stage
    from stages.plan import StagePlan

    stage = load_stage(name)
    text = stage.endpoints["text"]
    changed = {key: text.model_copy(update=fields) for key, fields in endpoints.items()}
    add_stacks(app, StagePlan.of(name, stage.model_copy(update={"endpoints": changed})))


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


def _synth(kind: str, argument: object, *, to: Path, option: str) -> Turn:
    app = f"{sys.executable} -m tools.bench.synth {kind} '{argument}'"
    return command("cdk", "synth", "--quiet", f"--{option}", "--app", app, "--output", to)


def _run_app(kind: str, argument: str) -> None:
    from aws_cdk import App

    app = App(context={"aws:cdk:disable-creation-stack-traces": True}, stack_traces=False)
    {"endpoints": add_endpoints, "models": add_models, "raw": add_raw}[kind](app, argument)
    app.synth()


if __name__ == "__main__":
    _run_app(*sys.argv[1:])
