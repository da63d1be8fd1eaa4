"""What the GPUs of endpoints do, from a file: this machine has none that Triton works on here.

A CSV file with a line for each change:

    seconds,endpoint,variant,utilization,memory
    0,prod-text,AllTraffic,40,55
    600,prod-text,AllTraffic,95,55

`seconds` are AWS's since the variant first served; the last line stays in force. `utilization` and
`memory` are percent, up to 100 times the GPUs of an instance: as SageMaker publishes them.
"""

import csv
import logging
import math
import os
from dataclasses import dataclass
from pathlib import Path

from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.settings import GPU_TRACE

COLUMNS = ["seconds", "endpoint", "variant", "utilization", "memory"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Load:
    """Percent of the GPUs and of their memory, from a number of seconds on."""

    seconds: float
    utilization: float
    memory: float


class GpuTrace:
    """The lines of a file, which is read again when it has changed.

    What is wrong with it then is logged, and the lines that were read before stay.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._changed = _change(file)
        self._loads = read(file)

    @classmethod
    def here(cls) -> "GpuTrace | None":
        """Return the one that the variable names, if it names one. Raises `LocalSageMakerError`."""
        path = os.environ.get(GPU_TRACE)
        return cls(Path(path)) if path else None

    def at(self, endpoint: str, variant: str, seconds: float) -> Load | None:
        """Return what a variant's GPUs do, so many seconds after it first served."""
        self._read_again()
        loads = self._loads.get((endpoint, variant), [])
        return next((it for it in reversed(loads) if it.seconds <= seconds), None)

    def _read_again(self) -> None:
        try:
            changed = _change(self._file)
            if changed != self._changed:
                self._changed = changed
                self._loads = read(self._file)
        except LocalSageMakerError as error:
            _log.warning("%s; the lines of before stay in force", error)


def read(file: Path) -> dict[tuple[str, str], list[Load]]:
    """Return the lines by endpoint and variant, by time. Raises `LocalSageMakerError`."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(file, error) from None
    rows = list(csv.reader(lines))
    if not rows or [it.strip() for it in rows[0]] != COLUMNS:
        raise LocalSageMakerError(f"{file}:1: write the columns first: {','.join(COLUMNS)}")
    loads: dict[tuple[str, str], list[Load]] = {}
    for number, row in enumerate(rows[1:], 2):
        if row:
            place, load = _parsed(f"{file}:{number}", [it.strip() for it in row])
            loads.setdefault(place, []).append(load)
    return {place: sorted(it, key=lambda load: load.seconds) for place, it in loads.items()}


def _parsed(where: str, row: list[str]) -> tuple[tuple[str, str], Load]:
    if len(row) != len(COLUMNS):
        raise LocalSageMakerError(f"{where}: has {len(row)} values: write {','.join(COLUMNS)}")
    seconds, endpoint, variant, utilization, memory = row
    numbers = {"seconds": seconds, "utilization": utilization, "memory": memory}
    for name, text in numbers.items():
        if not _is_positive(text):
            raise LocalSageMakerError(f"{where}: {name} is {text!r}: write a number of 0 or more")
    return (endpoint, variant), Load(float(seconds), float(utilization), float(memory))


def _is_positive(text: str) -> bool:
    try:
        return 0 <= float(text) < math.inf
    except ValueError:
        return False


def _change(file: Path) -> tuple[int, int]:
    try:
        status = file.stat()
    except OSError as error:
        raise _unreadable(file, error) from None
    return status.st_mtime_ns, status.st_size


def _unreadable(file: Path, error: Exception) -> LocalSageMakerError:
    return LocalSageMakerError(f"the GPU trace {file} cannot be read: {error}")
