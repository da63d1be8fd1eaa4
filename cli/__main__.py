"""Entry point of `tritonsm`: interrupts, output errors and exit codes."""

import errno
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from cli.interrupts import INTERRUPTS

INTERRUPTED = 128 + signal.SIGINT
INTERRUPT_MESSAGE = "error: interrupted\n"
DISK_FULL = errno.ENOSPC, errno.EDQUOT, errno.EFBIG


def _handle_interrupts(handler: Callable[[int, FrameType | None], object]) -> None:
    for number in INTERRUPTS:
        signal.signal(number, handler)


def _exit(_: int, __: FrameType | None) -> None:
    """Exit at once: numpy's import converts a KeyboardInterrupt into an ImportError."""
    os.write(sys.stderr.fileno(), INTERRUPT_MESSAGE.encode())
    os._exit(INTERRUPTED)


def _discard_output() -> None:
    """Discard buffered output: Python would fail again when it flushes the output at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(arguments: list[str]) -> int:
    """Run one command; return its exit code."""
    from cli.dispatch import parse_command

    try:
        command = parse_command(arguments)
        _handle_interrupts(signal.default_int_handler)
        code = command()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        _discard_output()
        return 128 + signal.SIGPIPE
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        sys.stderr.write(f"error: cannot write the output: {error.strerror}\n")
        _discard_output()
        return 1
    except KeyboardInterrupt:
        sys.stderr.write(INTERRUPT_MESSAGE)
        return INTERRUPTED
    return code


def run_program() -> int:
    """Run the command of the program's arguments; return its exit code."""
    _handle_interrupts(_exit)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTS)  # the script `tritonsm` blocks them
    try:
        from cli.printable import protect_output

        protect_output()
        return main(sys.argv[1:])
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if Path(package).exists() or Path(f"{package}.py").exists():  # a module of this repository
            raise
        sys.stderr.write(f"error: {sys.prefix} is incomplete: {error}: make install\n")
        return 1


if __name__ == "__main__":
    sys.exit(run_program())
