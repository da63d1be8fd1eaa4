"""Memory, volume and processors of instances, and the resource usage of processes."""

import operator
import os
import re
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from local_sagemaker.settings import DISK, MEMORY, whole_number

MIB, GIB = 1 << 20, 1 << 30
T = TypeVar("T")

# GiB of memory of an .xlarge by family; larger sizes have multiples. EC2 instance types, without a
# cited source.
_XLARGE_GIB = {"c": 8, "m": 16, "r": 32, "g4dn": 16, "g5": 16, "g6": 16, "g6e": 32}
_TYPE = re.compile(r"ml\.(?:([cmr])[5-9]\w*|(g4dn|g5|g6|g6e))\.(\d*)xlarge")
_XLARGE_CPUS = 4
_MODEL_FOLDER = re.compile(rb"/([0-9a-f]{32})/model/")

# Number of GPUs by size, such as 12 in .12xlarge; other sizes have one. Without a cited source.
_GPUS = {"12": 4, "24": 4, "48": 8}

# Default of VolumeSizeInGB; no source.
_VOLUME_GIB = 30


@dataclass(frozen=True)
class Capacity:
    """Memory and volume of an instance in bytes, and its number of vCPUs."""

    memory: int
    disk: int
    cpus: float = 1.0

    @classmethod
    def for_variant(cls, variant: dict[str, Any]) -> "Capacity":
        """Return the capacity of a variant's instance, limited by this machine's memory.

        The variables in `settings`, in MiB, override it. Raise `LocalSageMakerError` if one is
        invalid.
        """
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        resources = Resources.for_type(variant.get("InstanceType", ""))
        memory = min(int(resources.memory * MIB) if resources else machine, machine)
        disk = variant.get("VolumeSizeInGB", _VOLUME_GIB) * GIB
        own_memory, own_disk = ((whole_number(name) or 0) * MIB for name in (MEMORY, DISK))
        cpus = resources.cpus if resources else os.cpu_count() or 1
        return cls(own_memory or memory, own_disk or disk, cpus)


def resident_bytes(session: int) -> int:
    """Return the memory of a session's processes in bytes; shared memory counts once."""
    return sum(_by_process(session, partial(proportional_bytes, kinds=("Pss",))).values())


def resident_by_folder(session: int) -> tuple[int, dict[str, int]]:
    """Return the memory of a session's processes, and of those with a model's folder, by folder.

    A process of a model has the path FOLDER/model/... in its command line.
    """
    sizes, folders = _by_process(session, resident_and_folder), dict[str, int]()
    for size, folder in sizes.values():
        if folder:
            folders[folder] = folders.get(folder, 0) + size
    return sum(size for size, _ in sizes.values()), folders


def resident_and_folder(process: Path) -> tuple[int, str | None]:
    """Return the memory of a process, and the folder of its model."""
    match = _MODEL_FOLDER.search((process / "cmdline").read_bytes())
    return proportional_bytes(process, ("Pss",)), match[1].decode() if match else None


def unreclaimable_bytes(session: int) -> dict[int, int]:
    """Return the memory of each of a session's processes, without pages of files.

    Before the kernel kills a process, it frees pages of files, which it can read again.
    """
    return _by_process(session, partial(proportional_bytes, kinds=("Pss_Anon", "Pss_Shmem")))


def cpu_seconds(session: int) -> float:
    """Return the processor time of a session's processes and of their reaped children."""
    return sum(_by_process(session, processor_seconds).values())


def _by_process(session: int, value: Callable[[Path], T]) -> dict[int, T]:
    """Return `value` of the /proc folder of each of a session's processes, by process id."""
    values = {}
    for process in Path("/proc").iterdir():
        with suppress(ValueError, OSError):  # not a process, or it has just ended
            if os.getsid(int(process.name)) == session:
                values[int(process.name)] = value(process)
    return values


def processor_seconds(process: Path) -> float:
    """Return the processor time of a process and its reaped children from its /proc folder.

    Source: proc(5), /proc/[pid]/stat: utime, stime, cutime and cstime are the fields 14 to 17. The
    second field, a name in parentheses, may contain spaces.
    """
    stat = (process / "stat").read_text()
    ticks = sum(map(int, stat.rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def proportional_bytes(process: Path, kinds: Collection[str]) -> int:
    """Return the proportional set size of a process in bytes, as the sum of `kinds`.

    Source: proc_pid_smaps(5) and the kernel's Documentation/filesystems/proc.rst, smaps_rollup.
    """
    rollup = (process / "smaps_rollup").read_text()
    lines = (line.partition(":") for line in rollup.splitlines())
    return sum(int(value.split()[0]) * 1024 for kind, _, value in lines if kind in kinds)


@dataclass(frozen=True)
class Resources:
    """Memory in MiB, vCPUs and accelerators, of an instance or reserved by a component's copy."""

    memory: float
    cpus: float
    accelerators: float

    @classmethod
    def for_type(cls, instance_type: str) -> "Resources | None":
        """Return the resources of an instance type, None if it is unknown."""
        match = _TYPE.fullmatch(instance_type)
        if match is None:
            return None
        cpu_family, gpu_family, multiple = match.groups()
        size = int(multiple or 1)
        memory = _XLARGE_GIB[cpu_family or gpu_family] * size * GIB / MIB
        return cls(memory, _XLARGE_CPUS * size, _GPUS.get(multiple, 1) if gpu_family else 0)

    @classmethod
    def total(cls, reserved: "Iterable[Resources]") -> "Resources":
        """Return the sum of reservations."""
        return cls(
            *(sum(values) for values in zip((0, 0, 0), *map(astuple, reserved), strict=True))
        )

    def holds(self, reserved: "Resources") -> bool:
        """Return whether a reservation does not exceed these resources."""
        return all(map(operator.le, astuple(reserved), astuple(self)))
