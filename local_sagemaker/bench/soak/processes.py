"""What the processes of a local SageMaker take: memory, handles, threads, files, by their roles."""

import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from local_sagemaker import Folder
from local_sagemaker.bench.soak.flatness import Tolerance

MIB = 1 << 20
PROC, SHARED_MEMORY = Path("/proc"), Path("dev/shm")
FRONT, MINISTACK, BROKERS, SERVERS, STUBS, OTHERS = (
    *("front", "ministack", "brokers"),
    *("tritonserver", "stubs", "others"),
)
"""Roles: `others` are builds, Lambda functions, and what a server is started by."""

Sample = dict[str, float]


@dataclass(frozen=True)
class Measure:
    """What is sampled, and how much of it may come; without a tolerance it is only shown.

    Servers, stubs and brokers come and go, with their memory: of them nothing is judged while they
    work, only that nothing is left.
    """

    name: str
    unit: str
    tolerance: Tolerance | None = None


_MEMORY = Tolerance(constant=4, share=0.02)
_MEMORY_OF_LOGS = Tolerance(constant=8, share=0.02)  # those of builds fill for longer than it warms
_HANDLES = Tolerance(constant=8, share=0.1)
MEASURES = (
    Measure(f"{FRONT} memory", "MiB", _MEMORY),
    Measure(f"{FRONT} handles", "", _HANDLES),
    Measure(f"{FRONT} sockets", "", _HANDLES),
    Measure(f"{FRONT} threads", "", _HANDLES),
    Measure(f"{MINISTACK} memory", "MiB", _MEMORY_OF_LOGS),
    Measure(f"{MINISTACK} handles", "", _HANDLES),
    Measure(f"{MINISTACK} sockets", "", _HANDLES),
    Measure(f"{MINISTACK} threads", "", _HANDLES),
    Measure(f"{BROKERS} memory", "MiB"),
    Measure(f"{SERVERS} memory", "MiB"),
    Measure(f"{STUBS} memory", "MiB"),
    Measure("processes", "", Tolerance(constant=6, share=0.1)),
    Measure("zombies", "", Tolerance(constant=2)),
    Measure("shared memory", "segments", Tolerance(constant=6, share=0.2)),
    Measure("folder", "files", Tolerance(constant=100, share=0.02)),
    Measure("folder size", "MiB", Tolerance(constant=40, share=0.1)),  # what is captured goes again
)


def sample(folder: Folder, front: int) -> Sample:
    """Return every measure of the local SageMaker whose first process is `front`."""
    found: Sample = defaultdict(float, dict.fromkeys((it.name for it in MEASURES), 0.0))
    for pid in _tree(front):
        with suppress(OSError):  # it has just ended
            _add(found, pid)
    for place in _shared_memory(front):
        with suppress(OSError):
            found["shared memory"] += _count(place)
    for path in _files(folder.root):
        with suppress(OSError):
            found["folder size"] += path.lstat().st_size / MIB
            found["folder"] += 1
    return {it.name: round(found[it.name], 2) for it in MEASURES}


def _tree(root: int) -> Iterator[int]:
    children = defaultdict(list)
    for process in PROC.glob("[0-9]*"):
        with suppress(OSError):
            children[int(_stat(process)[1])].append(int(process.name))
    waiting = [root]
    while waiting:
        yield (pid := waiting.pop())
        waiting += children[pid]


def _add(found: Sample, pid: int) -> None:
    process = PROC / str(pid)
    found["processes"] += 1
    if _stat(process)[0] == "Z":
        found["zombies"] += 1
        return
    role = _role(process)
    pages = int((process / "statm").read_text().split()[1])
    found[f"{role} memory"] += pages * os.sysconf("SC_PAGE_SIZE") / MIB
    found[f"{role} threads"] += _count(process / "task")
    handles = [_target(it) for it in (process / "fd").iterdir()]
    found[f"{role} handles"] += len(handles)
    found[f"{role} sockets"] += sum(it.startswith("socket:") for it in handles)


def _role(process: Path) -> str:
    program = (process / "exe").readlink().name
    words = (process / "cmdline").read_text().split("\0")
    if program == "tritonserver":
        return SERVERS
    if program == "triton_python_backend_stub":
        return STUBS
    if any(it.endswith("hosting/broker.py") for it in words):
        return BROKERS
    if "local_sagemaker" in words:
        return {"serve": FRONT, "emulate": MINISTACK}[words[words.index("local_sagemaker") + 1]]
    return OTHERS


def _shared_memory(front: int) -> set[Path]:
    """Return where servers have their segments: each its own place, or all this machine's."""
    places = {}
    for pid in _tree(front):
        with suppress(OSError):
            if _role(PROC / str(pid)) == SERVERS:
                place = PROC / str(pid) / "root" / SHARED_MEMORY
                places[place.stat().st_dev] = place
    return set(places.values())


def _files(root: Path) -> Iterator[Path]:
    for place, _, files in os.walk(root):
        yield from (Path(place) / it for it in files)


def _count(folder: Path) -> int:
    return sum(1 for _ in folder.iterdir())


def _stat(process: Path) -> list[str]:
    """Return what follows the name, which may have spaces: state and parent first (proc(5))."""
    return (process / "stat").read_text().rpartition(")")[2].split()


def _target(handle: Path) -> str:
    with suppress(OSError):
        return str(handle.readlink())
    return ""
