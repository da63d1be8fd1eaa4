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
import os
import re
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.settings import GPU_TRACE

COLUMNS = ["seconds", "endpoint", "variant", "utilization", "memory"]

_NUMBER = re.compile(r"\d+(\.\d+)?")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Load:
    """Percent of the GPUs and of their memory, from a number of seconds on."""

    seconds: float
    utilization: float
    memory: float


class GpuTrace:
    """The lines of a file, which is read for each value: it may change while it is used.

    If it cannot be read then, the lines that were read before stay.
    """

    def __init__(self, file: Path) -> None:
        self._file, self._loads = file, read(file)

    @classmethod
    def here(cls) -> "GpuTrace | None":
        """Return the trace that the variable names, if it is set. Raise `LocalSageMakerError`."""
        path = os.environ.get(GPU_TRACE)
        return cls(Path(path)) if path else None

    def at(self, endpoint: str, variant: str, seconds: float) -> Load | None:
        """Return the load of a variant's GPUs, so many seconds after it first served."""
        try:
            self._loads = read(self._file)
        except LocalSageMakerError as error:
            _log.warning("%s; the lines of before stay in force", error)
        loads = self._loads.get((endpoint, variant), [])
        return next((load for load in reversed(loads) if load.seconds <= seconds), None)


def read(file: Path) -> dict[tuple[str, str], list[Load]]:
    """Return the lines by endpoint and variant, by time. Raise `LocalSageMakerError`."""
    try:
        rows = list(csv.reader(file.read_text(encoding="utf-8").splitlines()))
    except (OSError, UnicodeDecodeError) as error:
        raise LocalSageMakerError(f"the GPU trace {file} cannot be read: {error}") from None
    if not rows or [cell.strip() for cell in rows[0]] != COLUMNS:
        raise LocalSageMakerError(f"{file}:1: write the columns first: {','.join(COLUMNS)}")
    loads: dict[tuple[str, str], list[Load]] = {}
    for number, row in enumerate(rows[1:], 2):
        if row:
            place, load = _parsed(f"{file}:{number}", [cell.strip() for cell in row])
            loads.setdefault(place, []).append(load)
    return {place: sorted(lines, key=attrgetter("seconds")) for place, lines in loads.items()}


def _parsed(where: str, row: list[str]) -> tuple[tuple[str, str], Load]:
    if len(row) != len(COLUMNS):
        raise LocalSageMakerError(f"{where}: has {len(row)} values: write {','.join(COLUMNS)}")
    cells = dict(zip(COLUMNS, row, strict=True))
    for name in ("seconds", "utilization", "memory"):
        if not _NUMBER.fullmatch(cells[name]):
            message = f"{name} is {cells[name]!r}: write a number of 0 or more"
            raise LocalSageMakerError(f"{where}: {message}")
    numbers = (float(cells[name]) for name in ("seconds", "utilization", "memory"))
    return (cells["endpoint"], cells["variant"]), Load(*numbers)
