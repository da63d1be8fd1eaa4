"""Mutation tests: apply each mutant and report the test that fails.

Usage: `python -m tests.mutants [PART]`; PART is a part of the name or file of mutants. Snapshot
tests are excluded because they fail for every change. Exit code 0: all mutants were killed; 1: a
mutant survived. Invalid mutants and failing tests end with a message.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.mutants.mutant import Mutant, mutants

ROOT = Path(__file__).parents[2]
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
SURVIVED = "SURVIVED"


def main(part: str) -> int:
    """Test the mutants selected by `part`; return the exit code."""
    chosen = [mutant for mutant in mutants() if part in mutant.name or part in mutant.file]
    if not chosen:
        sys.exit(f'error: no mutant has "{part}" in its name or file')
    if faults := [fault for mutant in chosen for fault in mutant.faults(ROOT)]:
        sys.exit("\n".join(["error: these mutants cannot be applied:", *faults]))
    killers = {}
    with TemporaryDirectory(prefix="mutants-") as folder:
        tree = Path(folder)
        _copy(ROOT, tree)
        _require_success(tree, sorted({test for mutant in chosen for test in mutant.tests}))
        for mutant in chosen:
            killers[mutant.name] = killer = _killer(mutant, tree)
            print(f"{mutant.file}: {mutant.name}: {killer}", flush=True)
    _print_table(chosen, killers)
    return 1 if SURVIVED in killers.values() else 0


def _copy(root: Path, to: Path) -> None:
    """Copy tracked and untracked files, so that the working tree is never changed."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (root / name).is_file():  # git also lists deleted files and links to folders
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, to / name)
    (to / "node_modules").symlink_to(root / "node_modules")


def _require_success(tree: Path, tests: Sequence[str]) -> None:
    finished = _pytest(tree, tests)
    if finished.returncode:
        sys.exit(f"{finished.stdout}\nerror: tests fail without any mutant")


def _killer(mutant: Mutant, tree: Path) -> str:
    """Return the first test that fails because of a mutant, or `SURVIVED`."""
    with mutant.put_into(tree):
        finished = _pytest(tree, mutant.tests)
    if finished.returncode == 0:
        return SURVIVED
    failed = FAILED.search(finished.stdout)
    if failed is None:
        sys.exit(f"{finished.stdout}{finished.stderr}\nerror: {mutant.name}: pytest names no test")
    return failed[1].partition("[")[0].rpartition("/")[2]


def _pytest(tree: Path, tests: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """Run tests of the tree with its own packages instead of the installed ones."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests],
        cwd=tree,
        env={
            **os.environ,
            "CI": "1",  # hypothesis: fixed examples without deadlines
            "PYTHONDONTWRITEBYTECODE": "1",  # bytecode of a file with the same size could be reused
            "PYTHONPATH": os.pathsep.join([str(tree), str(tree / "constructs")]),
        },
        capture_output=True,
        text=True,
        check=False,
    )


def _print_table(tried: Sequence[Mutant], killers: dict[str, str]) -> None:
    print("\n| file | mutant | killed by |\n|---|---|---|")
    for mutant in tried:
        print(f"| {mutant.file} | {mutant.name} | {killers[mutant.name]} |")
    survived = sum(killers[mutant.name] == SURVIVED for mutant in tried)
    print(f"\n{len(tried)} mutants: {len(tried) - survived} killed, {survived} survived")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
