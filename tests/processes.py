"""Programs that tests run to their end."""

import subprocess
from typing import Any


def run_program(
    *command: object, code: int | None = 0, **options: Any
) -> "subprocess.CompletedProcess[str]":
    """Run a program; return its outputs as text. It must exit with `code`, unless this is None."""
    finished = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, check=False, **options
    )
    assert code in (None, finished.returncode), f"{finished.stdout}\n{finished.stderr}"
    return finished


def output_of(*command: object, code: int | None = 0, **options: Any) -> str:
    """Run a program without stdin; return its stdout with stderr in between. See `run_program`."""
    finished: subprocess.CompletedProcess[str] = subprocess.run(
        [*map(str, command)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **options,
    )
    assert code in (None, finished.returncode), finished.stdout
    return finished.stdout
