"""The local SageMaker's own log, which is a file."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from cli.errors import CommandError

PAUSE_SECONDS = 0.2


def show(log: Path, *, lines: int, containing: str, follow: bool) -> None:
    """Print the last lines that have a text in them; with `follow`, go on until Ctrl-C.

    Raises `CommandError`.
    """
    try:
        file = log.open("rb")
    except FileNotFoundError:
        raise CommandError(
            "the local SageMaker has no log: start it with tritonsm up; tritonsm logs NAME is the "
            "log of an endpoint"
        ) from None
    with file:
        shown = [it for it in _lines(file) if containing in it]
        for line in shown[max(0, len(shown) - lines) :]:
            print(line, end="")
        while follow:
            sys.stdout.flush()
            time.sleep(PAUSE_SECONDS)
            for line in _lines(file):
                if containing in line:
                    print(line, end="")


def _lines(file: BinaryIO) -> Iterator[str]:
    for line in file:
        yield line.decode(errors="replace")
