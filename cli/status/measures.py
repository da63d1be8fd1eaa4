"""What the app's alarms measure: the unit that people read, and the section of docs/runbook.md."""

import re
from typing import NamedTuple


class Measure(NamedTuple):
    """A value times `factor` is in `unit`, as the stage's file and the runbook have it."""

    section: str
    unit: str
    factor: float = 1


_CACHE = "CacheHits, LoadingWait, Unloads"
_LATENCY = "LatencyP50, LatencyP99"
MEASURES = {
    "share of 5xx answers": Measure("ServerErrors", "%", 100),
    "share of 4xx answers": Measure("ClientErrors", "%", 100),
    "share of requests that the container failed": Measure("ModelErrors", "%", 100),
    "median model latency": Measure(_LATENCY, "ms", 0.001),
    "p99 model latency": Measure(_LATENCY, "ms", 0.001),
    "low share of requests whose model is loaded": Measure(_CACHE, "%", 100),
    "longest wait for a model": Measure(_CACHE, "ms", 0.001),
    "models that left memory a minute": Measure(_CACHE, ""),
    "requests while too few models are in memory": Measure("LoadedModels", ""),
    "GPU memory in use": Measure("GpuMemory", "% of a GPU"),
    "storage in use": Measure("Disk", "%"),
}
"""By the title in an alarm's description; the alarms of GPUs count 100 for each."""
ROLLBACK = Measure("Rollback", "%", 100)


class Described(NamedTuple):
    """What an alarm's description says."""

    severity: str
    endpoint: str
    title: str
    measure: Measure


_DESCRIPTION = re.compile(r"(warning|critical): (.+) of (\S+), variant \S+")
_ROLLBACK = re.compile(r"Rolls an update of (\S+) back: (.+)")


def described(description: str) -> Described | None:
    """Read the description of an alarm of the app; None of any other."""
    if (found := _DESCRIPTION.fullmatch(description)) and found[2] in MEASURES:
        return Described(found[1], found[3], found[2], MEASURES[found[2]])
    if found := _ROLLBACK.fullmatch(description):
        return Described("rollback", found[1], found[2], ROLLBACK)
    return None
