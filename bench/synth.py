"""`cdk synth` of many endpoints against its floor: `python -m bench.synth [ENDPOINTS]`.

The floor is the same templates, each resource handed to the CDK as it is. Prints the least CPU
seconds of both in three turns, and their ratio: what constructs, models and checks cost on top of
what any synth costs.
"""

import json
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # each process imports what it measures
    from aws_cdk import App

ROOT = Path(__file__).parent.parent


def main(endpoints: int) -> None:
    """Synthesise prod with `endpoints` like its `text`, then the same templates as they are."""
    with TemporaryDirectory() as scratch:
        ours, floor = Path(scratch, "ours"), Path(scratch, "floor")
        turns = [
            (_synth("endpoints", str(endpoints), to=ours), _synth("templates", str(ours), to=floor))
            for _ in range(3)
        ]
        templates = _templates(ours)
        assert templates == _templates(floor)
    resources = sum(len(it["Resources"]) for it in templates.values())
    our_seconds, floor_seconds = map(min, zip(*turns, strict=True))
    print(f"{endpoints} endpoints, {resources:,} resources")
    print(f"constructs {our_seconds:6.1f} CPU s")
    print(f"floor      {floor_seconds:6.1f} CPU s")
    print(f"{our_seconds / floor_seconds:.2f} times the floor")


def add_endpoints(app: "App", count: str) -> None:
    """Add the stacks of prod, with `count` endpoints like `text` in the place of its own."""
    from stacks import add_stacks
    from stages import load_stage
    from stages.plan import StagePlan

    prod = load_stage("prod")
    named = {f"text-{number:03}": prod.endpoints["text"] for number in range(int(count))}
    stage = prod.model_copy(update={"endpoints": named})
    add_stacks(app, StagePlan.of("prod", stage))


def add_templates(app: "App", folder: str) -> None:
    """Add the stacks of an assembly, resource by resource."""
    from aws_cdk import CfnOutput, CfnResource, Environment, Stack, Token

    for name, template in _templates(Path(folder)).items():
        stack = Stack(app, name, env=Environment(region="us-east-1"))
        for logical_id, raw in template["Resources"].items():
            kind, properties = raw.pop("Type"), raw.pop("Properties", None)
            made = CfnResource(stack, logical_id, type=kind, properties=properties)
            for key, value in raw.items():
                made.add_override(key, value)
        for logical_id, raw in template.get("Outputs", {}).items():
            value, export = Token.as_string(raw["Value"]), raw.get("Export", {}).get("Name")
            CfnOutput(stack, logical_id, value=value, export_name=export)


def _synth(*what: str, to: Path) -> float:
    app = " ".join([sys.executable, "-m", "bench.synth", *what])
    command = ["cdk", "synth", "--quiet", "--app", app, "--output", str(to)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with Path(f"{to}.log").open("w") as log:
        subprocess.run(command, cwd=ROOT, check=True, stdout=log, stderr=log)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _templates(folder: Path) -> dict[str, Any]:
    return {
        path.name.partition(".")[0]: json.loads(path.read_text())
        for path in sorted(folder.glob("*.template.json"))
    }


def _run_app(what: str, argument: str) -> None:
    from aws_cdk import App

    app = App(context={"aws:cdk:disable-creation-stack-traces": True}, stack_traces=False)
    {"endpoints": add_endpoints, "templates": add_templates}[what](app, argument)
    app.synth()


if __name__ == "__main__":
    match sys.argv[1:]:
        case [what, argument]:
            _run_app(what, argument)
        case arguments:
            main(int(arguments[0]) if arguments else 100)
