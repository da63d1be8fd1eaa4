"""`tritonsm deploy`: deploy a stage as it is on disk, by the pinned cdk CLI."""

import argparse
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import boto3
from botocore.exceptions import ClientError

import cdk_cli
from cli.demo.building import newest_line
from cli.errors import CommandError, exit_code
from local_sagemaker import ACCOUNT, Folder
from model_build import PYTHON_VARIABLE
from model_build.commands.arguments import Commands
from model_build.publishing.catalog import Catalog
from release.preflight import capacity_errors
from release.tree import Tree
from stages import load_stage
from stages.plan import StagePlan

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
    tree = Tree(Path.cwd())
    region = tree.stage(stage).region
    config = load_stage(stage)  # what is wrong in its file is said before anything is begun
    if config.account == ACCOUNT and not options.local:
        raise CommandError(f"account {ACCOUNT} is the local SageMaker's: add --local")
    if options.local:
        _bootstrap(region)
    # Local deployments gate nothing: they are spared the CDK's validation of templates.
    quick = ["--no-validation"] if options.local else []
    plan = StagePlan.of(stage, config, python=os.environ.get(PYTHON_VARIABLE))
    try:
        cdk("deploy", stage, "--require-approval", "never", *quick, build=_builds(options))
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
    """Write the catalog entries that somebody deleted, and return their names.

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
