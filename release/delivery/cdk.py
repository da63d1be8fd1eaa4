"""The pinned cdk CLI."""

import os
import subprocess
from pathlib import Path

from release.delivery.steps import say

CLI = Path(__file__).parents[2] / "node_modules" / ".bin" / "cdk"


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
