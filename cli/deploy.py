"""`tritonsm deploy`: deploy a stage as it is on disk, by the pinned cdk CLI."""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

import boto3
from botocore.exceptions import ClientError

import cdk_cli
from cli.demo.building import newest_line
from cli.errors import CommandError, exit_code
from local_sagemaker import ACCOUNT, Folder
from model_build.commands.arguments import Commands
from release.tree import Tree
from stages import load_stage

BOOTSTRAP_STACK = "CDKToolkit"


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "deploy",
        description="Deploy a stage as it is on disk: nothing is reviewed, tried or remembered, as "
        "`tritonsm deliver` does.",
    )
    parser.add_argument("stage", metavar="STAGE", help="a stage, such as dev")
    parser.set_defaults(run=partial(exit_code, run))


def run(options: argparse.Namespace) -> int:
    """Deploy; return the exit code."""
    stage = options.stage
    region = Tree(Path.cwd()).stage(stage).region
    load_stage(stage)  # what is wrong in its file is said before anything is begun
    if options.local:
        _bootstrap(region)
    # Local deployments gate nothing: they are spared the CDK's validation of templates.
    quick = ["--no-validation"] if options.local else []
    cdk("deploy", stage, "--require-approval", "never", *quick, build=_builds(options))
    print(f"deployed: {stage}")
    return 0


def cdk(command: str, stage: str, *arguments: str, build: Callable[[], str] = str) -> None:
    """Run a command of the CLI on all stacks of a stage. Raises `CommandError` where it fails."""
    app = "--all", "-c", f"stage={stage}"
    ended = cdk_cli.run(command, *app, *arguments, title=f"cdk {command}: {stage}", build=build)
    if not ended.succeeded:
        raise CommandError("\n  ".join(it.removeprefix("error: ") for it in ended.reasons))


def _builds(options: argparse.Namespace) -> Callable[[], str]:
    return partial(newest_line, Folder.default().builds) if options.local else str


def _bootstrap(region: str) -> None:
    """Bootstrap the local SageMaker, where nobody has: it is new whenever it was started."""
    try:
        boto3.client("cloudformation", region).describe_stacks(StackName=BOOTSTRAP_STACK)
    except ClientError:
        # Elsewhere, since the CLI would synthesise an app that is here, which bootstrap needs not.
        elsewhere = Folder.default().root
        account = f"aws://{ACCOUNT}/{region}"
        ended = cdk_cli.run("bootstrap", account, title="cdk bootstrap", cwd=elsewhere)
        if not ended.succeeded:
            raise CommandError("\n  ".join(ended.reasons)) from None
