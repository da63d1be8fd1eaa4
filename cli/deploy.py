"""`tritonsm deploy`: deploy a stage as it is on disk, by the pinned cdk CLI."""

import argparse
import os
from functools import partial
from pathlib import Path

import boto3
from botocore.exceptions import ClientError

import cdk_cli
from cli.errors import CommandError
from cli.parsers import STAGE, add_command
from local_sagemaker import ACCOUNT, Folder
from model_build import PYTHON_VARIABLE
from model_build.commands.arguments import Commands
from model_build.publishing.catalog import Catalog
from release.preflight import capacity_errors
from release.tree import Tree
from stages import load_stage
from stages.plan import StagePlan

BOOTSTRAP_STACK = "CDKToolkit"
TAIL_BYTES = 4096


def add_to(commands: Commands) -> None:
    """Add the command."""
    description = "Deploy a stage as it is on disk: nothing is reviewed, tried or remembered, as "
    description += "`tritonsm deliver` does."
    parser = add_command(commands, "deploy", run, description)
    parser.add_argument("stage", metavar="STAGE", help=STAGE)


def run(options: argparse.Namespace) -> int:
    """Deploy; return the exit code."""
    stage = options.stage
    tree = Tree(Path.cwd())
    region = tree.stage(stage).region
    config = load_stage(stage)  # report an invalid file before anything changes
    if config.account == ACCOUNT and not options.local:
        raise CommandError(f"account {ACCOUNT} is the local SageMaker's: add --local")
    local = Folder.default() if options.local else None
    if local:
        bootstrap(region, local)
    plan = StagePlan.of(stage, config, python=os.environ.get(PYTHON_VARIABLE))
    try:
        cdk("deploy", stage, "--all", "--require-approval", "never", local=local)
    except CommandError as error:
        session = boto3.Session(region_name=region)
        fixes = capacity_errors.advice(str(error), plan.as_json(), tree, session)
        raise CommandError("\n  ".join([str(error), *fixes])) from None
    restored = _restore_catalog(plan, region)
    print(f"deployed: {stage}")
    if restored:
        print(f"restored, as they had been deleted: {', '.join(restored)}")
    return 0


def _restore_catalog(plan: StagePlan, region: str) -> list[str]:
    """Restore deleted catalog entries, and return their names.

    CloudFormation does not: it compares templates, not what is there (user guide, "Detect
    unmanaged configuration changes to stacks and resources with drift detection").
    """
    restored = []
    for endpoint in plan.endpoints.values():
        catalog = Catalog(boto3.client("ssm", region), plan.name, endpoint.short_name)
        present = catalog.entries()
        for entry in endpoint.catalog:
            if entry["model"] not in present:
                catalog.flip(entry, "deployed")
                restored.append(f"{catalog.path}/{entry['model']}")
    return restored


def cdk(command: str, stage: str, *arguments: str, local: Folder | None = None) -> None:
    """Run a command of the CLI on all stacks of a stage, on AWS or on the local SageMaker.

    Raise `CommandError` where it fails.
    """
    arguments = "-c", f"stage={stage}", *arguments
    if local:  # no change is judged on a laptop: skip the CDK's validation of templates
        arguments += "--no-validation", "--output", str(local.root / "cdk.out")
    _run(command, *arguments, title=f"cdk {command}: {stage}", local=local)


def bootstrap(region: str, local: Folder) -> None:
    """Bootstrap the local SageMaker unless it is: each start begins with an empty one."""
    try:
        boto3.client("cloudformation", region).describe_stacks(StackName=BOOTSTRAP_STACK)
    except ClientError:
        # In a folder without cdk.json: the CLI would synthesise the app, which it does not need.
        account = f"aws://{ACCOUNT}/{region}"
        _run("bootstrap", account, title="cdk bootstrap", local=local, cwd=local.root)


def _run(*arguments: str, title: str, local: Folder | None, cwd: Path | None = None) -> None:
    build = partial(newest_line, local.builds) if local else str
    try:
        ended = cdk_cli.run(*arguments, title=title, cwd=cwd, build_status=build)
    except OSError as error:
        raise CommandError(f"{cdk_cli.CLI} cannot be started: {error.strerror}") from error
    if not ended.succeeded:
        reasons = "\n  ".join(reason.removeprefix("error: ") for reason in ended.error_lines)
        raise CommandError(reasons + (_logs(local) if local else ""))


def _logs(local: Folder) -> str:
    builds, instances, log = (
        os.path.relpath(path) for path in (local.builds, local.instances, local.log)
    )
    return f"\n  Logs: {builds} of builds, {instances} of Triton, {log} of the emulator"


def newest_line(builds: Path) -> str:
    """Return the last line of the newest build's log, without those of CodeBuild's agent."""
    logs = sorted(builds.glob("*/build.log"), key=lambda log: log.stat().st_mtime)
    if not logs:
        return ""
    with logs[-1].open("rb") as log:  # several times a second: only the end is read
        log.seek(max(0, log.seek(0, os.SEEK_END) - TAIL_BYTES))
        lines = log.read().decode(errors="replace").splitlines()
    own = (line.strip() for line in reversed(lines) if not line.startswith("[Container] "))
    return next(filter(None, own), "")
