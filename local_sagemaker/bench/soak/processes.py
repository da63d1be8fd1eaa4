"""Memory, handles and threads of the front and of ministack, and what is left of instances."""

import os
from collections import Counter
from contextlib import suppress
from pathlib import Path
from statistics import median

from local_sagemaker import Folder

PROC = Path("/proc")
FRONT, MINISTACK = "front", "ministack"
MIB = 1 << 20
ROLES = {"local_sagemaker.front.server": FRONT, "local_sagemaker.emulator": MINISTACK}
"""Module of a process -> its role."""
WARM_UP = 0.25
"""Share of a run in which caches fill and pools grow."""
POOLED = 80
"""Threads and connections that pools keep: the front has 64 threads for operations, for one."""
GROWTH = {
    f"{FRONT} memory": 8.0,
    f"{MINISTACK} memory": 16.0,
    **{f"{role} {kind}": 12.0 for role in (FRONT, MINISTACK) for kind in ("handles", "threads")},
    "processes": 6.0,
    "zombies": 2.0,
    "files": 100.0,
}
"""Measures, and how much each may grow after the warm-up: memory in MiB."""

Sample = Counter[str]


def sample(folder: Folder, front: int) -> Sample:
    """Return the measures of a local SageMaker, whose first process is `front`."""
    values: Sample = Counter()
    for process in _session(front):
        with suppress(OSError):  # it has just ended
            values["processes"] += 1
            values["zombies"] += _fields(process)[0] == "Z"
            words = (process / "cmdline").read_text().split("\0")
            role = ROLES.get(words[2] if words[2:] else "", "")
            if role:
                pages = int((process / "statm").read_text().split()[1])
                values[f"{role} memory"] += pages * os.sysconf("SC_PAGE_SIZE") // MIB
                values[f"{role} threads"] += len(list((process / "task").iterdir()))
                values[f"{role} handles"] += len(list((process / "fd").iterdir()))
    values["files"] = sum(len(files) for _, _, files in os.walk(folder.root))
    return values


def growth(samples: list[Sample]) -> dict[str, tuple[float, float]]:
    """Return each measure's median in the first and the last third after the warm-up."""
    later = samples[int(len(samples) * WARM_UP) :]
    third = max(1, len(later) // 3)
    return {
        name: (
            median(values[name] for values in later[:third]),
            median(values[name] for values in later[-third:]),
        )
        for name in GROWTH
    }


def left(before: Sample, after: Sample) -> list[str]:
    """Return what is left of deleted endpoints, without what pools keep."""
    pooled = {name: POOLED for name in GROWTH if name.endswith(("handles", "threads"))}
    allowed = {"processes": 0, "zombies": 0, **pooled}
    return [
        f"{after[name]} {name}, {before[name]} before"
        for name, more in allowed.items()
        if after[name] > before[name] + more
    ]


def _session(front: int) -> list[Path]:
    """Return the process and its descendants, which it starts in sessions of their own."""
    parents: dict[int, int] = {}
    for process in PROC.glob("[0-9]*"):
        with suppress(OSError):
            parents[int(process.name)] = int(_fields(process)[1])
    tree = {front}
    while more := {pid for pid, parent in parents.items() if parent in tree} - tree:
        tree |= more
    return [PROC / str(pid) for pid in tree]


def _fields(process: Path) -> list[str]:
    """Return what follows the name, which may have spaces: state and parent first (proc(5))."""
    return (process / "stat").read_text().rpartition(")")[2].split()
