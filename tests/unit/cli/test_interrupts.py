"""Ctrl-C, at each of the times when it may come."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.test_repository import ROOT

KILL = "os.kill(os.getpid(), signal.SIGINT)"
EARLY = f"signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]); {KILL}; main([])"
IMPORTING = f"dispatch.read = lambda _: {KILL}; main([])"
CONVERTED = f"""
def command():
    try:
        {KILL}
    except KeyboardInterrupt:
        raise ImportError("numpy.core failed to import")
dispatch.read = lambda _: command
sys.exit(main([]))
"""
RUNNING = f"dispatch.read = lambda _: lambda: {KILL}; sys.exit(main([]))"


@pytest.mark.parametrize("script", [EARLY, IMPORTING, CONVERTED, RUNNING])
def test_an_interrupt_is_one_line_and_130(script: str) -> None:
    setup = "import os, signal, sys; from cli import dispatch; from cli.__main__ import main\n"
    ended = subprocess.run(
        [sys.executable, "-c", setup + script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (130, "error: interrupted\n")


def test_who_has_read_enough_ends_a_command_without_a_word() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [sys.executable, "-m", "cli", "stages"]
    ended = subprocess.run(
        command, cwd=ROOT, stdout=write_end, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write_end)
    assert (ended.returncode, ended.stderr) == (141, "")


def test_a_full_disk_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "cli", "stages"],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    message = "error: what is written does not fit: No space left on device\n"
    assert (ended.returncode, ended.stderr) == (1, message)
