"""Measurement of compared alternatives ("sides") in turns, and the results as JSON."""

import ctypes
import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from delivery import cdk

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "tools" / "bench" / "results"
PACKAGES = "aws-cdk-lib", "boto3", "jsii", "numpy", "torch", "tritonclient"
TICKS = os.sysconf("SC_CLK_TCK")
PR_SET_CHILD_SUBREAPER = 36

Turn = dict[str, float]
"""The values of one measurement, by measure. Plots show the first measure."""
Sides = Mapping[str, Callable[[], Turn]]
"""Measuring functions by name. Each side is compared with the next."""


def become_subreaper() -> None:
    """Adopt descendants whose parent ends: prctl(2), PR_SET_CHILD_SUBREAPER."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and its descendants, including ended ones.

    proc_pid_stat(5): utime and stime of processes, and of their reaped children.
    """
    stats: dict[int, tuple[int, int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # the process has ended
            continue
        stats[int(path.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    pids = {os.getpid()}
    while children := {pid for pid, (parent, _) in stats.items() if parent in pids} - pids:
        pids |= children
    return sum(stats[pid][1] for pid in pids & stats.keys()) / TICKS


def timed(action: Callable[[], object]) -> Turn:
    """Return the wall and CPU seconds of an action, including child processes."""
    cpu, start = cpu_seconds(), time.perf_counter()
    action()
    return {"wall s": time.perf_counter() - start, "CPU s": cpu_seconds() - cpu}


def total(*turns: Turn) -> Turn:
    """Return the sums of several measurements."""
    return {measure: sum(turn[measure] for turn in turns) for measure in turns[0]}


def command(*arguments: object, cwd: Path = ROOT, codes: tuple[int, ...] = (0,)) -> Turn:
    """Measure a command. Raise `RuntimeError` with its output for other exit codes."""
    environment = {**os.environ, "PYTHONPATH": f"{cwd}{os.pathsep}{cwd / 'constructs'}"}

    def run() -> None:
        finished = subprocess.run(
            [str(argument) for argument in arguments],
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if finished.returncode not in codes:
            raise RuntimeError(f"{arguments}\n{finished.stdout}{finished.stderr}")

    return timed(run)


class Results:
    """The turns of a benchmark, by case and side."""

    def __init__(self, *, quick: bool) -> None:
        self.quick, self.versions, self.rows = quick, dict[str, str](), list[dict[str, Any]]()

    def add(self, case: str, side: str, turn: Turn) -> None:
        """Add a turn and print it."""
        print(f"{case:42} {side:32}", *(f"{name} {value:.2f}" for name, value in turn.items()))
        for row in self.rows:
            if (row["case"], row["side"]) == (case, side):
                row["turns"].append(turn)
                return
        self.rows.append({"case": case, "side": side, "turns": [turn]})

    def alternate(self, case: str, sides: Sides, turns: int) -> None:
        """Measure the sides one after the other, `turns` times; in a quick run, once."""
        for _ in range(1 if self.quick else turns):
            for side, measure in sides.items():
                self.add(case, side, measure())


@contextmanager
def write_results(name: str, *, quick: bool) -> Iterator[Results]:
    """Yield results; then write them with the machine, its load average and all versions."""
    results = Results(quick=quick)
    start, load_before, timer = datetime.now(UTC), os.getloadavg(), time.perf_counter()
    yield results
    outputs = ":!tools/bench/results", ":!docs"
    dirty = _git("status", "--porcelain", "--untracked-files=no", "--", ".", *outputs)
    content = {
        "quick": quick,
        "date": start.isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - timer),
        "commit": _git("rev-parse", "--short=12", "HEAD") + ("-dirty" if dirty else ""),
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "cpus": os.cpu_count(),
            "memory_gib": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 30,
        },
        "load_average": {"before": load_before, "after": os.getloadavg()},
        "versions": {
            "python": platform.python_version(),
            "aws-cdk": json.loads((cdk.CLI.parents[1] / "aws-cdk/package.json").read_text())[
                "version"
            ],
            **{package: version(package) for package in PACKAGES},
            **results.versions,
        },
        "rows": results.rows,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")


def _git(*arguments: str) -> str:
    return subprocess.check_output(["git", *arguments], cwd=ROOT, text=True).strip()
