"""Interrupts and output errors of `tritonsm` in a subprocess."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.unit.cli.conftest import run_python

KILL = "os.kill(os.getpid(), signal.SIGINT)"
# The script `tritonsm` blocks SIGINT during imports.
BLOCKED = f"signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]); {KILL}; run_program()"
# parse_command imports the module of the command.
DURING_IMPORT = f"dispatch.parse_command = lambda _: {KILL}; run_program()"
DURING_COMMAND = f"dispatch.parse_command = lambda _: lambda: {KILL}; sys.exit(main([]))"


@pytest.mark.parametrize(
    "script", [BLOCKED, DURING_IMPORT, DURING_COMMAND], ids=["blocked", "importing", "running"]
)
def test_interrupt_has_exit_code_130(script: str) -> None:
    setup = (
        "import os, signal, sys; from cli import dispatch\n"
        "from cli.__main__ import main, run_program\n"
    )
    result = run_python("-c", setup + script)
    assert (result.returncode, result.stderr) == (130, "error: interrupted\n")


def test_closed_pipe_is_silent() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    result = run_python("-m", "cli", "stages", stdout=write_end, stderr=subprocess.PIPE)
    os.close(write_end)
    assert (result.returncode, result.stderr) == (141, "")


def test_full_disk_is_an_error() -> None:
    with Path("/dev/full").open("w") as full:
        result = run_python("-m", "cli", "stages", stdout=full, stderr=subprocess.PIPE)
    message = "error: cannot write the output: No space left on device\n"
    assert (result.returncode, result.stderr) == (1, message)
