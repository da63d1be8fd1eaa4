"""`python -m cli`, which `tritonsm` starts."""

import errno
import os
import signal
import sys
from types import FrameType

from cli.interrupts import INTERRUPTS

INTERRUPTED = 128 + signal.SIGINT
LINE = "error: interrupted\n"
FULL = errno.ENOSPC, errno.EDQUOT, errno.EFBIG
"""Why a disk takes no more."""


class Interruption:
    """Signal handling: end the program at once, or raise while a command runs.

    While modules are imported, nothing is begun that would have to be undone, and some, such as
    numpy's, turn a KeyboardInterrupt into an ImportError.
    """

    def __init__(self) -> None:
        self.came = False

    def listen(self) -> None:
        """Begin to end the program; also for an interrupt that `tritonsm` has kept waiting."""
        for number in INTERRUPTS:
            signal.signal(number, _end)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTS)

    def let_through(self) -> None:
        """Begin to raise."""
        for number in INTERRUPTS:
            signal.signal(number, self._raise)

    def _raise(self, _: int, __: FrameType | None) -> None:
        self.came = True
        raise KeyboardInterrupt


def _end(_: int, __: FrameType | None) -> None:
    os.write(sys.stderr.fileno(), LINE.encode())
    os._exit(INTERRUPTED)


def _drop_output() -> None:
    """Write nothing more: what is left would fail again as Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(arguments: list[str]) -> int:
    """Run one command; return its exit code."""
    interruption = Interruption()
    interruption.listen()
    from cli.dispatch import read

    try:
        command = read(arguments)
        interruption.let_through()
        code = command()
        sys.stdout.flush()
    except BrokenPipeError:  # who reads, such as `head`, has read enough
        _drop_output()
        return 128 + signal.SIGPIPE
    except OSError as error:
        if error.errno not in FULL:
            raise
        sys.stderr.write(f"error: what is written does not fit: {error.strerror}\n")
        _drop_output()
        return 1
    except BaseException:
        if not interruption.came:
            raise
        sys.stderr.write(LINE)
        return INTERRUPTED
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
