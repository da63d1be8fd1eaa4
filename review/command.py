"""Review a change: `tritonsm review --base origin/main`.

Builds this tree's release without credentials, and compares it with the release of the base. The
code and acknowledgements of the base are used. Writes review.md and review.json in every
case. Exit codes:
  0  everything was compared, and every danger is acknowledged or advisory
     (review/acknowledged.yaml)
  2  the command's arguments are invalid
  3  everything was compared, and at least one danger is neither acknowledged nor advisory
  4  not everything was compared, for the reasons in the report (no base, a stage that cannot be
     synthesised on either side, a plan that cannot be read): dangers may be missing
"""

import argparse
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from release.build import build_release
from release.checkout import Checkout, CheckoutError, GitCheckout
from review.change_review import ERRORS, incomplete_report
from review.output_files import DANGER, INCOMPLETE, remove_outputs, write_outputs

INSTALLED_FOLDERS = ("node_modules",)
"""Folders that `make` installs below the root; a worktree of the base does not have them."""


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command `review`; its `run` returns the exit code."""
    parser = commands.add_parser("review", description=__doc__)
    parser.add_argument("--base", required=True, help="a commit, branch or tag to compare with")
    parser.add_argument(
        "stages", metavar="STAGE", nargs="*", help="stages to compare; default: all of them"
    )
    parser.add_argument("--output", type=Path, default=Path("review.out"))
    folder = "the folder of a release, from `tritonsm release build` or `fetch`"
    parser.add_argument("--release", type=Path, help=f"{folder}; default: build this tree's")
    parser.add_argument("--base-release", type=Path, help=f"{folder}; default: build the base's")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command; return the exit code."""
    remove_outputs(options.output)
    try:
        code = _review(
            options.base, options.stages, options.output, options.release, options.base_release
        )
    except ERRORS as error:
        report = incomplete_report(options.base, str(error), Checkout(Path.cwd()))
        code = write_outputs(report, options.output)
    print(options.output / "review.md")
    return code


def _review(
    base: str, stages: list[str], output: Path, release: Path | None, base_release: Path | None
) -> int:
    """Build the release of this tree, or take it from a folder; review it with the base's code."""
    clone = GitCheckout.of_working_directory()
    commit = clone.fork_point(base)
    if release is None:
        print(f"running app.py of {clone.root}; commit {commit[:12]} reviews it", file=sys.stderr)
        release = output / "release"
        shutil.rmtree(release, ignore_errors=True)
        head_stages = [stage for stage in clone.stages() if not stages or stage in stages]
        build_release(clone, release, head_stages)
    with clone.checked_out(commit) as tree:
        for name in INSTALLED_FOLDERS:
            with suppress(FileExistsError):
                (tree.root / name).symlink_to(clone.root / name)
        arguments = ["--base", tree.root, "--name", base, "--head", clone.root]
        arguments += ["--assemblies", release.resolve(), "--output", output.resolve()]
        if base_release is not None:
            arguments += ["--base-release", base_release.resolve()]
        arguments += [f"--stage={stage}" for stage in stages]
        return _run_judge(tree, list(map(str, arguments)))


def _run_judge(base: Checkout, arguments: list[str]) -> int:
    """Run the review with the code of the base, in a separate process; return the exit code."""
    program = [sys.executable, "-m", "review.judge", *arguments]
    code = subprocess.run(program, cwd=base.root, env=base.environment, check=False).returncode
    if code not in (0, DANGER, INCOMPLETE):
        raise CheckoutError(f"the review by the code of the base ended with exit code {code}")
    return code
