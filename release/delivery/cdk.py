"""The pinned cdk CLI."""

import os
import subprocess
from pathlib import Path

from release.delivery.steps import say

CLI = Path(__file__).parents[2] / "node_modules" / ".bin" / "cdk"


def deploy(assembly: Path, *stacks: str) -> bool:
    """Deploy stacks of an assembly, those that do not need each other side by side.

    Return whether it succeeded. What the CLI says is printed as it comes, each event with its
    stack; when one fails, it waits for those that it has begun.
    """
    at_once = str(len(stacks))
    return _run(
        assembly, "deploy", *stacks, "--concurrency", at_once, "--require-approval", "never"
    )


def publish_assets(assembly: Path, *stacks: str) -> bool:
    """Upload the files that these stacks need, as `deploy` does; return whether it succeeded."""
    opted_in = "--unstable=publish-assets"
    return _run(assembly, "publish-assets", *stacks, "--exclusively", opted_in)


def _run(assembly: Path, *arguments: str) -> bool:
    with subprocess.Popen(
        [str(CLI), *arguments, "--app", str(assembly)],
        env={**os.environ, "CI": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                say(f"  {line.rstrip()}")
        except BaseException:  # interrupted: it must not begin another stack
            process.terminate()
            process.wait()
            raise
        return process.wait() == 0
