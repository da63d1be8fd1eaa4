"""Programs that tests run to their end."""

import io
import subprocess
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
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


def run_main(
    main: Callable[[list[str]], int], *arguments: object, code: int | None = 0
) -> "subprocess.CompletedProcess[str]":
    """Run a command in this process; its exit code must be `code`, unless this is None."""
    command = [*map(str, arguments)]
    with redirect_stdout(io.StringIO()) as output, redirect_stderr(io.StringIO()) as errors:
        result = main(command)
    assert code in (None, result), f"{output.getvalue()}\n{errors.getvalue()}"
    return subprocess.CompletedProcess(command, result, output.getvalue(), errors.getvalue())
