"""The pinned cdk CLI."""

import os
import subprocess
import sys
from pathlib import Path

from release.checkouts import import_path
from release.delivery.errors import NotDelivered
from release.delivery.steps import say

CLI = Path(__file__).parents[2] / "node_modules" / ".bin" / "cdk"


def synth(root: Path, *, stage: str, to: Path) -> None:
    """Write the templates of a stage, as the app in `root` has it, to a cloud assembly.

    Raises `NotDelivered` with what the app said.
    """
    finished = subprocess.run(
        [str(CLI), "synth", "--quiet", "-c", f"stage={stage}", "--output", str(to)],
        cwd=root,
        env=_environment(root),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if finished.returncode:
        raise NotDelivered(f"the app of {root} has no templates:\n{finished.stdout.strip()}")


def deploy(assembly: Path, *stacks: str) -> bool:
    """Deploy stacks of an assembly, all of them when none is named; return whether it succeeded.

    What the CLI says is printed as it comes.
    """
    which = stacks or ("--all",)
    process = subprocess.Popen(
        [str(CLI), "deploy", *which, "--require-approval", "never", "--app", str(assembly)],
        env={**os.environ, "CI": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        say(f"  {line.rstrip()}")
    return process.wait() == 0


def _environment(root: Path) -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {
        **os.environ,
        "CI": "1",
        "NO_COLOR": "1",
        "PATH": path,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": import_path(root),
    }
