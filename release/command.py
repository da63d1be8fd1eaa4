"""Build a release: `tritonsm release build`.

A release is the cloud assemblies of all stages of a commit, with their digests. A review compares
two releases, and a delivery deploys one. Exit code 0: every stage was synthesised. 1: a stage was
not; the message has the reason.
"""

import argparse
import shutil
import sys
from pathlib import Path

from release.artefact import FILE
from release.build import build_release
from release.checkouts import Clone
from release.tree import ERROR_SUFFIX

FOLDER = Path("release.out")


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command `release`; its `run` returns the exit code."""
    parser = commands.add_parser("release", description=__doc__)
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    build = actions.add_parser("build", help="synthesise all stages; needs no credentials")
    build.add_argument("--output", type=Path, default=FOLDER, help=f"a folder; default: {FOLDER}")
    build.set_defaults(run=_build)


def _build(options: argparse.Namespace) -> int:
    """Write the release of the working directory; print its digest."""
    folder: Path = options.output
    if folder.exists() and any(folder.iterdir()) and not (folder / FILE).is_file():
        print(f"error: {folder} is not empty, and not a release: name another", file=sys.stderr)
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    release = build_release(Clone.of_working_directory(), folder)
    errors = sorted(folder.glob(f"*{ERROR_SUFFIX}"))
    for path in errors:
        print(f"error: {path.stem}: {path.read_text(encoding='utf-8')}", file=sys.stderr)
    if release.commit is None:
        print("! uncommitted changes: this release can be reviewed, not delivered", file=sys.stderr)
    print(release.digest)
    return 1 if errors else 0
