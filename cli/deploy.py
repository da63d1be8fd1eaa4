"""`tritonsm deploy`: deploy a stage from the working tree with the pinned cdk CLI."""

import argparse
import os
import re
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import boto3
from botocore.exceptions import ClientError

from cli.errors import CommandError
from cli.local_option import ACCOUNT
from cli.parsers import STAGE, add_command
from delivery import cdk
from delivery.archives import build_missing_archives
from delivery.assembly import Assembly
from delivery.catalog import describe_unbuilt, restore_entries, unbuilt_models
from delivery.deploy import StageDeployment
from delivery.errors import DeliveryError, ModelsKept, next_steps
from model_build.commands.arguments import Commands
from release.checkout import WITHOUT_VALIDATION, Checkout

if TYPE_CHECKING:  # see cli.local_option
    from local_sagemaker import Folder

BOOTSTRAP_STACK = "CDKToolkit"
_CONCURRENT = re.compile(r"(?:Other CLIs|Another CLI) \(PID=([\d, ]+)\)")
"""The cdk CLI's error if another one uses the same folder of output (RWLock in lib/index.js)."""
TAIL_BYTES = 4096
MANY_ARCHIVES = 50
"""More missing archives are built before CloudFormation starts, which waits 50 minutes for them."""


def add_to(commands: Commands) -> None:
    """Add the command."""
    description = "Deploy a stage from the working tree, without the checks and the record of "
    description += "`tritonsm deliver`."
    parser = add_command(commands, "deploy", run, description)
    parser.add_argument("stage", metavar="STAGE", help=STAGE)


def run(options: argparse.Namespace) -> int:
    """Deploy the stage; return the exit code."""
    stage, tree = options.stage, Checkout(Path.cwd())
    file = tree.stage(stage)
    if file.account == ACCOUNT and not options.local:
        raise CommandError(
            f"stage {stage} is for the local SageMaker (account {ACCOUNT}): add --local"
        )
    local = None
    if options.local:
        from local_sagemaker import Folder

        local = Folder.default()
    with TemporaryDirectory(prefix="deploy-") as folder:
        # Reports an invalid stage or model before AWS is called.
        tree.synthesise(stage, to=Path(folder), validate=local is None)
        if local:
            bootstrap(file.region, local, file.existing.get("bootstrap_qualifier"))
        assembly = Assembly(Path(folder), stage)
        deployment = StageDeployment(assembly, boto3.Session(region_name=file.region))
        try:
            unbuilt = _deploy(deployment, local)
        except (CommandError, DeliveryError) as error:
            message = str(error)
            arguments = f"{stage} --local" if local else stage
            raise CommandError("\n  ".join([message, *next_steps(message, arguments)])) from None
    print(f"deployed: {stage}")
    if unbuilt:
        print("\n  ".join([f"{ModelsKept.label}:", *unbuilt]), file=sys.stderr)
        return ModelsKept.exit_code
    return 0


def _deploy(deployment: StageDeployment, local: "Folder | None") -> list[str]:
    """Deploy an assembly; return a sentence for each model that could not be built."""
    session, plan = deployment.session, deployment.assembly.plan
    keeps_models = any(endpoint.settings.keeps_models for endpoint in plan.endpoints.values())
    missing = [*deployment.assembly.archives]
    # A build outside of CloudFormation tells why a model could not be built.
    limit = 0 if keeps_models else MANY_ARCHIVES
    if len(missing) > limit and (bucket := deployment.bucket):
        missing = bucket.incomplete(missing)
    if len(missing) > limit:
        build_missing_archives(deployment)
    app = "--app", str(deployment.assembly.folder)
    run_cdk("deploy", plan.stage, "--all", "--require-approval", "never", *app, local=local)
    unbuilt = unbuilt_models(plan, deployment.bucket if keeps_models else None)
    restore_entries(session, plan, unbuilt)
    return describe_unbuilt(session, plan, unbuilt)


def run_cdk(command: str, stage: str, *arguments: str, local: "Folder | None" = None) -> None:
    """Run a command of the CLI on stacks of a stage, on AWS or on the local SageMaker.

    Templates are validated only for AWS. Raise `CommandError` if the command fails.
    """
    arguments = "-c", f"stage={stage}", *arguments
    if local and "--output" not in arguments:
        arguments += "--output", str(local.root / "cdk.out")
    environment = WITHOUT_VALIDATION if local or command == "destroy" else {}
    title = f"cdk {command}: {stage}"
    _run(command, *arguments, title=title, local=local, environment=environment)


def bootstrap(region: str, local: "Folder", qualifier: str | None = None) -> None:
    """Bootstrap the local SageMaker if necessary: it is empty after `up`."""
    stack, options = BOOTSTRAP_STACK, list[str]()
    if qualifier:
        stack = f"{BOOTSTRAP_STACK}-{qualifier}"
        options = ["--qualifier", qualifier, "--toolkit-stack-name", stack]
    try:
        boto3.client("cloudformation", region).describe_stacks(StackName=stack)
    except ClientError:
        # In a folder without cdk.json, the CLI does not synthesise the app, which is not needed.
        account = f"aws://{ACCOUNT}/{region}"
        _run("bootstrap", account, *options, title="cdk bootstrap", local=local, cwd=local.root)


def _run(*arguments: str, title: str, local: "Folder | None", **options: Any) -> None:
    build_status = partial(newest_build_line, local.builds) if local else str
    try:
        result = cdk.run(*arguments, title=title, build_status=build_status, **options)
    except OSError as error:
        raise CommandError(f"{cdk.CLI} cannot be started: {error.strerror}") from error
    if not result.succeeded:
        if match := next(filter(None, map(_CONCURRENT.search, result.error_lines)), None):
            raise CommandError(
                f"nothing was changed: process {match[1]} deploys from this folder. Wait until it "
                "ends, then run the command again"
            )
        reasons = "\n  ".join(reason.removeprefix("error: ") for reason in result.error_lines)
        raise CommandError(reasons + (_log_paths(local) if local else ""))


def _log_paths(local: "Folder") -> str:
    builds, instances, log = (
        os.path.relpath(path) for path in (local.builds, local.instances, local.log)
    )
    return f"\n  Logs: {builds} of builds, {instances} of Triton, {log} of the emulator"


def newest_build_line(builds: Path) -> str:
    """Return the last line of the newest build's log, without lines of CodeBuild."""
    logs = sorted(builds.glob("*/build.log"), key=lambda log: log.stat().st_mtime)
    if not logs:
        return ""
    with logs[-1].open("rb") as log:  # only the end, because this runs several times a second
        log.seek(max(0, log.seek(0, os.SEEK_END) - TAIL_BYTES))
        lines = log.read().decode(errors="replace").splitlines()
    printed = (line.strip() for line in reversed(lines) if not line.startswith("[Container] "))
    return next(filter(None, printed), "")
