"""Memory and volume of an instance, and its memory in use."""

import operator
import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from local_sagemaker.settings import DISK, MEMORY, whole_number

MIB, GIB = 1 << 20, 1 << 30

# GiB of an .xlarge; the other sizes of a family are multiples of it. General knowledge of EC2's
# instance types, not read in a source.
_XLARGE_GIB = {"c": 8, "m": 16, "r": 32, "g4dn": 16, "g5": 16, "g6": 16, "g6e": 32}
_TYPE = re.compile(r"ml\.(?:([cmr])[5-9]\w*|(g4dn|g5|g6|g6e))\.(\d*)xlarge")
_XLARGE_CPUS = 4

# GPUs of the sizes of a family with GPUs; the others have one. The same kind of knowledge.
_GPUS = {"12": 4, "24": 4, "48": 8}

# A variant may leave VolumeSizeInGB out; which size it gets then was not read in a source.
_VOLUME_GIB = 30


@dataclass(frozen=True)
class Capacity:
    """Bytes that an instance has for its processes and for its models' files.

    `cpus` are the processors of which its use is a share.
    """

    memory: int
    disk: int
    cpus: float = 1.0

    @classmethod
    def of(cls, variant: dict[str, Any]) -> "Capacity":
        """Return what an instance of a production variant has, and this machine can give it.

        The variables of `settings` are in MiB, of every instance. Raise `LocalSageMakerError` where
        one is no number.
        """
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        resources = Resources.of(variant.get("InstanceType", ""))
        memory = min(int(resources.memory * MIB) if resources else machine, machine)
        disk = variant.get("VolumeSizeInGB", _VOLUME_GIB) * GIB
        sizes = ((whole_number(name) or 0) * MIB for name in (MEMORY, DISK))
        return cls(*(size or own for size, own in zip(sizes, (memory, disk), strict=True)))


def resident_bytes(session: int) -> int:
    """Return the memory of a session's processes; what several of them share counts once."""
    return int(_sum(session, proportional_bytes))


def cpu_seconds(session: int) -> float:
    """Return the processors' seconds of a session's processes, and of those that they reaped."""
    return _sum(session, processor_seconds)


def _sum(session: int, number: Callable[[Path], float]) -> float:
    """Add up a number of each process of a session, by its folder of /proc."""
    total = 0.0
    for process in Path("/proc").iterdir():
        with suppress(ValueError, OSError):  # no process, or one that has just ended
            if os.getsid(int(process.name)) == session:
                total += number(process)
    return total


def processor_seconds(process: Path) -> float:
    """Return the processor time of a process and its reaped children, by its folder of /proc.

    Source: proc(5), /proc/[pid]/stat: utime, stime, cutime and cstime are the fields 14 to 17. The
    second one, a name in brackets, may have spaces.
    """
    stat = (process / "stat").read_text()
    ticks = sum(map(int, stat.rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def proportional_bytes(process: Path) -> int:
    """Return the memory of a process, by its folder of /proc; its share of what it shares."""
    rollup = (process / "smaps_rollup").read_text()
    (kib,) = (line.split()[1] for line in rollup.splitlines() if line.startswith("Pss:"))
    return int(kib) * 1024


@dataclass(frozen=True)
class Resources:
    """MiB of memory, vCPUs and accelerators: of an instance, or that a copy of a model reserves."""

    memory: float
    cpus: float
    accelerators: float

    @classmethod
    def of(cls, instance_type: str) -> "Resources | None":
        """Return the resources of an instance type, None for one that is not known here."""
        match = _TYPE.fullmatch(instance_type)
        if match is None:
            return None
        letter, family, times = match.groups()
        size = int(times or 1)
        memory = _XLARGE_GIB[letter or family] * size * GIB / MIB
        return cls(memory, _XLARGE_CPUS * size, _GPUS.get(times, 1) if family else 0)

    @classmethod
    def total(cls, reserved: "Iterable[Resources]") -> "Resources":
        """Return the sum of several reservations."""
        return cls(
            *(sum(values) for values in zip((0, 0, 0), *map(astuple, reserved), strict=True))
        )

    def holds(self, reserved: "Resources") -> bool:
        """Return whether a reservation fits."""
        return all(map(operator.le, astuple(reserved), astuple(self)))
