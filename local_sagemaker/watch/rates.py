"""Calls, errors and latencies of each variant per second."""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from itertools import repeat
from typing import Any, NamedTuple

MAX_SECONDS = 600
"""Number of the latest seconds that are stored per variant."""


class _Second(NamedTuple):
    """A completed second of a variant, with latencies in milliseconds."""

    calls: int = 0
    errors: int = 0
    p50: float | None = None
    p95: float | None = None


class Traffic:
    """The rates of all variants. All methods are thread-safe; `clock` returns Unix seconds."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._variants: dict[tuple[str, str], _Variant] = {}

    def add(self, endpoint: str, variant: str, seconds: float, failed: bool) -> None:
        """Count an invocation that has just been completed with a latency of `seconds`."""
        now = int(self._clock())
        with self._lock:
            counts = self._variants.get((endpoint, variant))
            if counts is None:
                counts = self._variants[endpoint, variant] = _Variant(now)
            counts.complete_until(now)
            counts.latencies.append(seconds)
            counts.errors += failed

    def rates(self, endpoint: str, variant: str, since: float) -> dict[str, Any]:
        """Return one list per rate, for the completed seconds since `since` (Unix seconds)."""
        now = int(self._clock())
        with self._lock:
            counts = self._variants.get((endpoint, variant), _Variant(now))
            counts.complete_until(now)
            first = max(now - len(counts.completed), math.ceil(since))
            seconds = list(counts.completed)[first - now :] if first < now else []
        return {
            "first": first,
            **{field: [getattr(second, field) for second in seconds] for field in _Second._fields},
        }

    def delete_except(self, endpoints: Collection[str]) -> None:
        """Delete the rates of all endpoints that are not in `endpoints`."""
        with self._lock:
            self._variants = {
                key: counts for key, counts in self._variants.items() if key[0] in endpoints
            }


class _Variant:
    """The current second of a variant, and its completed seconds."""

    def __init__(self, now: int) -> None:
        self.completed: deque[_Second] = deque(maxlen=MAX_SECONDS)
        self.latencies: list[float] = []
        self.errors = 0
        self._second = now

    def complete_until(self, now: int) -> None:
        """Complete all seconds before `now`; empty seconds have no calls."""
        if now <= self._second:
            return
        p50, p95 = (_percentile(sorted(self.latencies), fraction) for fraction in (0.5, 0.95))
        self.completed.append(_Second(len(self.latencies), self.errors, p50, p95))
        self.completed.extend(repeat(_Second(), min(now - self._second - 1, MAX_SECONDS)))
        self.latencies, self.errors, self._second = [], 0, now


def _percentile(latencies: list[float], fraction: float) -> float | None:
    """Return a percentile of sorted latencies in milliseconds; None without latencies."""
    if not latencies:
        return None
    return float(f"{latencies[math.ceil(fraction * len(latencies)) - 1] * 1000:.3g}")
