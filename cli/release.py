"""Build a release, or fetch one that was delivered: `tritonsm release build`.

A release is the cloud assemblies of all stages of a commit, with their digests. A review compares
two releases, and a delivery deploys one. Exit code 0: the release was written. 1: it was not, or a
stage could not be synthesised; the message has the reason.
"""

import argparse
import shutil
import sys
from functools import partial
from pathlib import Path

import boto3

from cli.errors import run_command
from delivery.command import RELEASE
from delivery.deliver import stage_history
from delivery.deploy import StageDeployment
from delivery.record import DELETED_RECORD, record_is_deleted
from delivery.store import FETCHED, fetch_release
from release.artefact import FILE
from release.build import build_release
from release.checkout import ERROR_SUFFIX, Checkout, CheckoutError, GitCheckout


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command `release`; its `run` returns the exit code."""
    parser = commands.add_parser("release", description=__doc__)
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    build = actions.add_parser("build", help="synthesise all stages; needs no credentials")
    build.add_argument("--output", type=Path, default=RELEASE, help=f"a folder; default: {RELEASE}")
    build.set_defaults(run=partial(run_command, _build))
    fetch = actions.add_parser("fetch", help="read a delivered release from the stage's bucket")
    fetch.add_argument("stage", metavar="STAGE", help="the stage's name, such as prod")
    fetch.add_argument("--digest", metavar="RELEASE", help="its beginning; default: the live one")
    fetch.add_argument("--output", type=Path, default=FETCHED, help=f"default: {FETCHED}")
    fetch.set_defaults(run=partial(run_command, _fetch))


def _build(options: argparse.Namespace) -> int:
    """Write the release of the working directory; print its digest."""
    folder: Path = options.output
    clone = GitCheckout.of_working_directory()
    _remove_release(folder)
    release = build_release(clone, folder)
    errors = sorted(folder.glob(f"*{ERROR_SUFFIX}"))
    for path in errors:
        print(f"error: {path.stem}: {path.read_text(encoding='utf-8')}", file=sys.stderr)
    if release.commit is None:
        print("! uncommitted changes: this release can be reviewed, not delivered", file=sys.stderr)
    print(release.digest)
    return 1 if errors else 0


def _fetch(options: argparse.Namespace) -> int:
    """Write the stage's part of a release in its store; print its digest."""
    stage, folder = options.stage, options.output
    session = boto3.Session(region_name=Checkout(Path.cwd()).stage(stage).region)
    history = stage_history(session, stage)
    delivery = (
        history.rollback_target(options.digest) if options.digest else history.deliveries().live()
    )
    bucket = StageDeployment.bucket_of(stage, session)
    if bucket is None or delivery is None or not delivery.release:
        is_deleted = record_is_deleted(bucket, history.deliveries().entries)
        state = DELETED_RECORD if is_deleted else "nothing was delivered"
        advice = "" if is_deleted else f". To deploy the working tree: tritonsm deploy {stage}"
        raise CheckoutError(f"{stage}: {state}, so that no release is known to be live{advice}")
    _remove_release(folder)
    folder.mkdir(parents=True)
    print(fetch_release(bucket, delivery.release, stage, folder).digest)
    return 0


def _remove_release(folder: Path) -> None:
    """Delete an earlier release. Raise `CheckoutError` if the folder has something else."""
    if folder.exists() and any(folder.iterdir()) and not (folder / FILE).is_file():
        raise CheckoutError(f"{folder} is not empty, and not a release: name another folder")
    shutil.rmtree(folder, ignore_errors=True)
