"""Say what a change will do: `tritonsm review --base origin/main`.

Runs the app of this tree without credentials; the code, settings and acknowledgements of the base
judge what it makes. Writes review.md and review.json, whatever happens. Exit codes:
  0  all of it was compared, and every danger is acknowledged in release/acknowledged.yaml
  2  the command's arguments are wrong
  3  all of it was compared, and a danger is not acknowledged
  4  not everything was compared, and the report says what and why: no base, a stage that cannot be
     synthesised on either side, a linter that fails; dangers may be missing
"""

import argparse
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from release.checkouts import Clone
from release.review import judge
from release.review.assemblies import write
from release.review.change_review import ERRORS, commits
from release.review.findings import NOTHING
from release.review.output_files import DANGER, INCOMPLETE, conclude, remove
from release.review.report import ChangeReport, Gap
from release.tree import CheckoutError, Tree

PROGRAM = Path("release", "review", "judge.py")
INSTALLED = (".venv-checkov", "node_modules")
"""What `make` installs below the root, and a worktree of the base lacks."""


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command `review`; its `run` returns the exit code."""
    parser = commands.add_parser("review", description=__doc__)
    parser.add_argument("--base", required=True, help="a commit, branch or tag to compare with")
    parser.add_argument(
        "stages", metavar="STAGE", nargs="*", help="stages to compare; default: all of them"
    )
    parser.add_argument("--output", type=Path, default=Path("review.out"))
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Review; return the exit code."""
    remove(options.output)
    try:
        code = _review(options.base, options.stages, options.output)
    except ERRORS as error:
        gap = Gap("everything", str(error))
        here = commits(Tree(Path.cwd()))
        report = ChangeReport(options.base, stages=(), findings=NOTHING, commits=here, gaps=(gap,))
        code = conclude(report, options.output)
    print(options.output / "review.md")
    return code


def _review(base: str, stages: list[str], output: Path) -> int:
    """Run this tree's app, and let the code of the base judge what it made."""
    clone = Clone.here()
    commit = clone.fork_point(base)
    print(f"runs app.py of {clone.root}; {commit[:12]} judges what it makes", file=sys.stderr)
    assemblies = output / "assemblies"
    shutil.rmtree(assemblies, ignore_errors=True)
    known = clone.stages()
    write(clone, assemblies, [stage for stage in stages or known if stage in known])
    with clone.checked_out(commit) as tree:
        for name in INSTALLED:
            with suppress(FileExistsError):
                (tree.root / name).symlink_to(clone.root / name)
        arguments = ["--base", tree.root, "--name", base, "--head", clone.root]
        arguments += ["--assemblies", assemblies.resolve(), "--output", output.resolve()]
        arguments += [part for stage in stages for part in ("--stage", stage)]
        return _judge(tree, list(map(str, arguments)))


def _judge(base: Tree, arguments: list[str]) -> int:
    """Judge by the code of the base, in a process of its own; return the exit code."""
    if not (base.root / PROGRAM).is_file():
        print("note: the base has no judge: this tree judges itself", file=sys.stderr)
        return judge.main(arguments)
    program = [sys.executable, "-m", "release.review.judge", *arguments]
    code = subprocess.run(program, cwd=base.root, env=base.environment, check=False).returncode
    if code not in (0, DANGER, INCOMPLETE):
        raise CheckoutError(f"the judge of the base ended with exit code {code}")
    return code
