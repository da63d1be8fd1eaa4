"""Calls, errors and latencies of each variant by second."""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from itertools import repeat
from typing import Any, NamedTuple

SECONDS = 600
"""Number of seconds that are kept per variant."""


class _Second(NamedTuple):
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
        """Count an invocation that was completed now with a latency of `seconds`."""
        now = int(self._clock())
        with self._lock:
            counts = self._variants.get((endpoint, variant))
            if counts is None:
                counts = self._variants[endpoint, variant] = _Variant(now)
            counts.turn(now)
            counts.latencies.append(seconds)
            counts.errors += failed

    def rates(self, endpoint: str, variant: str, since: float) -> dict[str, Any]:
        """Return the rates of completed seconds from `since` on, in Unix seconds."""
        now = int(self._clock())
        with self._lock:
            counts = self._variants.get((endpoint, variant), _Variant(now))
            counts.turn(now)
            first = max(now - len(counts.ended), math.ceil(since))
            seconds = list(counts.ended)[len(counts.ended) - (now - first) :] if first < now else []
        members = _Second._fields
        return {
            "first": first,
            **{member: [getattr(second, member) for second in seconds] for member in members},
        }

    def keep(self, endpoints: Collection[str]) -> None:
        """Delete the rates of all other endpoints."""
        with self._lock:
            self._variants = {
                key: counts for key, counts in self._variants.items() if key[0] in endpoints
            }


class _Variant:
    """The current second of a variant, and the completed ones."""

    def __init__(self, now: int) -> None:
        self.ended: deque[_Second] = deque(maxlen=SECONDS)
        self.latencies: list[float] = []
        self.errors = 0
        self._second = now

    def turn(self, now: int) -> None:
        """Complete the current second, if `now` is a later one."""
        if now <= self._second:
            return
        p50, p95 = (_percentile(sorted(self.latencies), share) for share in (0.5, 0.95))
        self.ended.append(_Second(len(self.latencies), self.errors, p50, p95))
        self.ended.extend(repeat(_Second(), min(now - self._second - 1, SECONDS)))
        self.latencies, self.errors, self._second = [], 0, now


def _percentile(latencies: list[float], share: float) -> float | None:
    """Return a percentile of latencies in milliseconds."""
    if not latencies:
        return None
    return float(f"{latencies[math.ceil(share * len(latencies)) - 1] * 1000:.3g}")
