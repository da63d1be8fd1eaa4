"""Whether this machine is large enough.

Measured with `make demo` on 2 cores: 1.9 GiB of memory at most, 190 MB in `.local_sagemaker`, 54
open files in a process.
"""

import os
import re
import resource
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from cli.doctor.finding import Finding, missing, ok, warning

GIB, MIB = 1 << 30, 1 << 20
MEMORY = 2 * GIB
DISK, DISK_OF_INSTALLATION = 1 * GIB, 3 * GIB
"""What the demo leaves room for, and what README says of the installation."""
SHARED_MEMORY = 256 * MIB
"""16 MiB for each Python model's instance, which grow (serve, shm-default-byte-size): our choice.
An isolated Triton has a /dev/shm of its own (hosting/broker.py), which is not looked at."""
FILES = 256


def findings(root: Path) -> Iterator[Finding]:
    """Yield what was found."""
    yield _memory(Path("/proc/meminfo"), Path("/sys/fs/cgroup"))
    yield ok("processors", f"{len(os.sched_getaffinity(0))}")
    yield _disk(root)
    yield _shared_memory()
    yield _files()


def _memory(meminfo: Path, group: Path) -> Finding:
    """Of the machine, or what a container's group leaves of it.

    Source: proc(5), MemAvailable, in KiB; cgroups(7), memory.max and memory.current, in bytes.
    """
    check = "memory"
    found = re.search(r"^MemAvailable:\s+(\d+) kB", meminfo.read_text(), re.M)
    if found is None:
        return warning(check, "not known", f"leave {MEMORY // GIB} GiB")
    free = min([int(found[1]) << 10, *_left_to(group)])
    if free < MEMORY:
        need = f"leave {MEMORY // GIB} GiB: end other programs"
        return missing(check, f"{_gib(free)} free", need)
    return ok(check, f"{_gib(free)} free")


def _left_to(group: Path) -> Iterator[int]:
    with suppress(OSError, ValueError):  # a machine's own group has no limit, or says "max"
        limit, used = ((group / f"memory.{it}").read_text() for it in ("max", "current"))
        yield int(limit) - int(used)


def _disk(root: Path) -> Finding:
    check, free = "disk", shutil.disk_usage(root).free
    found = f"{_gib(free)} free at {root}"
    if free < DISK:
        return missing(check, found, f"free {_gib(DISK)}; a new make install needs 3 GiB")
    if free < DISK_OF_INSTALLATION:
        return warning(check, found, "a new make install needs 3 GiB, make models-test 6 more")
    return ok(check, found)


def _shared_memory() -> Finding:
    check = "shared memory"
    try:
        free = shutil.disk_usage("/dev/shm").free
    except OSError:
        free = 0
    if free < SHARED_MEMORY:
        return warning(
            check,
            f"{free / MIB:.0f} MiB free at /dev/shm",
            "in a container, start it with --shm-size=1g: where a Triton has no namespaces, its "
            "Python models share it",
        )
    return ok(check, f"{_gib(free)} free at /dev/shm")


def _files() -> Finding:
    check = "open files"
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= limit < FILES:
        return missing(check, f"{limit} a process", f"ulimit -n {FILES * 4}")
    return ok(check, "no limit" if limit < 0 else f"{limit} a process")


def _gib(size: int) -> str:
    return f"{size / GIB:.1f} GiB"
