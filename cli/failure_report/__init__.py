"""Collect what explains a failed deploy of a stage into a zip file, for a bug report.

The file has the events and resources of the stage's stacks, builds, endpoints, inference
components, scaling, alarms, the ends of the logs, the plan of the working tree, and versions. It
has no secrets that detect-secrets knows, and no values of requests and responses: of an endpoint's
log only the lines that Triton writes. The values of the containers' environment variables are
masked in all files, but for those shorter than four characters, `true` and the like, and those of
variables SAGEMAKER_*, which are settings. Values of earlier deploys are not known. Read the file
before you attach it: an error message of a model may contain what the model was given.
"""

import argparse
import json
import platform
import zipfile
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from cli.failure_report.account_state import sections
from cli.failure_report.masking import masked, variable_values
from cli.parsers import STAGE, add_command
from delivery.aws import failure_reason
from model_build.commands.arguments import Commands
from release.checkout import Checkout, CheckoutError, git

PACKAGES = ("aws-cdk-lib", "boto3", "cdk-nag", "constructs", "ministack")


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "report", run, __doc__)
    parser.add_argument("stage", metavar="STAGE", help=STAGE)
    parser.add_argument("--output", type=Path, metavar="FILE", help="default: report-STAGE.zip")


def run(options: argparse.Namespace) -> int:
    """Write the file; return the exit code."""
    stage, tree = options.stage, Checkout(Path.cwd())
    session = boto3.Session(region_name=tree.stage(stage).region)
    path = options.output or Path(f"report-{stage}.zip")
    texts, problems = dict[str, str](), list[str]()

    def add(name: str, read: Callable[[], Any]) -> None:
        """Add the content of a section; a failure becomes a line of problems.txt."""
        try:
            content = read()
        except (BotoCoreError, ClientError) as error:
            problems.append(f"{name}: {failure_reason(error)}")
        except CheckoutError as error:
            problems.append(f"{name}: {error}")
        else:
            texts[name] = content if isinstance(content, str) else _as_json(content)

    add("versions.json", lambda: _versions(tree, stage, is_local=options.local))
    add("plan.json", lambda: _plan(tree, stage))
    try:
        for section in sections(session, stage, tree.stages()):
            add(section.name, section.read)
    except (BotoCoreError, ClientError) as error:
        problems.append(f"stacks: {failure_reason(error)}")
    if options.local:
        add("emulator.log", _emulator_log)
    texts["problems.txt"] = "\n".join(problems)
    values = variable_values(texts.values())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            archive.writestr(name, masked(text, values))
    for problem in problems:
        print(f"not included: {masked(problem, values)}")
    print(f"{path}: read it before you attach it to a bug report")
    return 0


def _versions(tree: Checkout, stage: str, *, is_local: bool) -> dict[str, Any]:
    commit, changes = "", ""
    with suppress(CheckoutError):  # not a clone
        commit, changes = git(tree.root, "rev-parse", "HEAD"), git(tree.root, "status", "--short")
    return {
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "stage": stage,
        "answered_by": "the local SageMaker" if is_local else "AWS",
        "commit": commit,
        "changed_files": [line[3:] for line in changes.splitlines()],
        "python": platform.python_version(),
        "platform": platform.platform(),
        **{package: version(package) for package in PACKAGES},
    }


def _plan(tree: Checkout, stage: str) -> Any:
    """Return the plan of the working tree."""
    with TemporaryDirectory(prefix="report-") as folder:
        tree.synthesise(stage, to=Path(folder))
        return json.loads((Path(folder) / "plan.json").read_text())


def _emulator_log() -> str:
    from local_sagemaker import Folder

    return Folder.default().log.read_text(errors="replace")[-200_000:]


def _as_json(content: Any) -> str:
    return json.dumps(content, indent=1, default=str)
