"""`cdk deploy` of the stage `local` on a new local SageMaker, split into its parts.

Each part is compared with its floor, the least time that it can take:

- synth: a synthesis of the same templates as raw resources
- CLI and CloudFormation: a deploy of the same number of stacks, with one SSM parameter each
- build: the builder's command

The times of CloudFormation and of the build are those of stack events and build records;
"CLI" is the rest of the deploy. "Written assembly" is `cdk diff` without a synthesis.
"""

import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import boto3

from cli.deploy import bootstrap
from local_sagemaker import REGION
from model_build import BuildTarget, ModelFolder
from tools.bench.build import build_list
from tools.bench.local_endpoint import local_sagemaker
from tools.bench.synth import templates
from tools.bench.turns import ROOT, Results, Turn, command, total

TURNS = 2


def run(results: Results) -> None:
    """Deploy the stage and the same number of small stacks, each on a new local SageMaker."""
    for _ in range(1 if results.quick else TURNS):
        with TemporaryDirectory() as scratch, local_sagemaker() as (folder, running):
            bootstrap(REGION, folder)
            ours, raw, small = (Path(scratch, name) for name in ("ours", "raw", "small"))
            synth = _synth("app.py", output=ours)
            stacks = len(templates(ours))
            floor = _synth(f"-m tools.bench.synth raw {ours}", output=raw)
            _synth(f"-m tools.bench.deploy {stacks}", output=small)
            target = BuildTarget.parse("cpu-24.09").with_python(running.python)
            deploy, small_deploy = _deploy(ours), _deploy(small)
            direct = build_list([ModelFolder(ROOT / "models" / "minilm").model()], str(target))
            _add(results, "whole deploy", total(synth, deploy), total(floor, small_deploy, direct))
            stacks_time, small_stacks_time = map(_stack_seconds, (ours, small))
            build_time = _build_seconds()
            diff = partial(command, "cdk", "diff", "--all", "--no-validation", "--app")
            results.add("cdk diff, unchanged", "app", diff("python app.py", "-c", "stage=local"))
            results.add("cdk diff, unchanged", "written assembly", diff(ours))
            _add(results, "synth", _wall(synth["wall s"]), _wall(floor["wall s"]))
            cli = deploy["wall s"] - stacks_time, small_deploy["wall s"] - small_stacks_time
            _add(results, "CLI", *map(_wall, cli))
            cloudformation = stacks_time - build_time, small_stacks_time
            _add(results, "CloudFormation", *map(_wall, cloudformation))
            _add(results, "build", _wall(build_time), _wall(direct["wall s"]))


def _add(results: Results, case: str, ours: Turn, floor: Turn) -> None:
    results.add(case, "local deploy", ours)
    results.add(case, "floor", floor)


def _wall(seconds: float) -> Turn:
    return {"wall s": seconds}


def _synth(app: str, *, output: Path) -> Turn:
    program = "cdk", "synth", "--quiet", "--no-validation", "--app", f"{sys.executable} {app}"
    return command(*program, "-c", "stage=local", "--output", output)


def _deploy(assembly: Path) -> Turn:
    return command("cdk", "deploy", "--all", "--require-approval", "never", "--app", assembly)


def _stack_seconds(assembly: Path) -> float:
    """Return the sum of the seconds between the first and the last event of each stack."""
    cloudformation: Any = boto3.client("cloudformation")
    seconds = 0.0
    for stack in templates(assembly):
        pages = cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack)
        times = [event["Timestamp"] for page in pages for event in page["StackEvents"]]
        seconds += (max(times) - min(times)).total_seconds()
    return seconds


def _build_seconds() -> float:
    codebuild: Any = boto3.client("codebuild")
    builds = codebuild.batch_get_builds(ids=codebuild.list_builds()["ids"])["builds"]
    seconds: float = sum(
        (build["endTime"] - build["startTime"]).total_seconds() for build in builds
    )
    return seconds


def _small_app(stacks: int) -> None:
    from aws_cdk import App, Environment, Stack
    from aws_cdk.aws_ssm import StringParameter

    app = App()
    for number in range(stacks):
        stack = Stack(app, f"small-{number}", env=Environment(region=REGION))
        StringParameter(stack, "Parameter", string_value="value")
    app.synth()


if __name__ == "__main__":
    _small_app(int(sys.argv[1]))
