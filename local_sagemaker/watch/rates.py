"""How many invocations each variant has, second by second, how many fail, and how long they take.

All sizes are fixed: a variant has four rings of ten minutes, and one histogram of the second that
is under way, of which two percentiles are kept when it has ended.
"""

import math
import threading
import time
from array import array
from collections.abc import Callable, Collection

from local_sagemaker.watch.schema import Rates

SECONDS = 600

_LEAST, _MOST, _PARTS = 0.0005, 60.0, 4
"""Seconds that the histogram tells apart, in steps of a factor of two to the power of 1/4: a
percentile is within 10 % of the true one."""

_BUCKETS = math.ceil(_PARTS * math.log2(_MOST / _LEAST)) + 1


class Traffic:
    """Every method is safe to call from any thread; `clock` gives Unix seconds."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._rings: dict[tuple[str, str], _Rings] = {}

    def add(self, endpoint: str, variant: str, seconds: float, failed: bool) -> None:
        """Count an invocation that was answered now, after so many seconds."""
        now = int(self._clock())
        with self._lock:
            rings = self._rings.get((endpoint, variant))
            if rings is None:
                rings = self._rings[endpoint, variant] = _Rings(now)
            rings.turn(now)
            rings.add(seconds, failed)

    def of(self, endpoint: str, variant: str, since: float) -> Rates:
        """Return the seconds that have ended, from `since` on, in Unix seconds."""
        now = int(self._clock())
        with self._lock:
            rings = self._rings.get((endpoint, variant))
            if rings is None:
                return Rates(first=now, calls=[], errors=[], p50=[], p95=[])
            rings.turn(now)
            return rings.since(math.ceil(since))

    def keep(self, endpoints: Collection[str]) -> None:
        """Forget all but these endpoints."""
        with self._lock:
            self._rings = {key: it for key, it in self._rings.items() if key[0] in endpoints}


class _Rings:
    def __init__(self, now: int) -> None:
        self._calls, self._errors = (array("L", [0]) * SECONDS for _ in range(2))
        self._p50, self._p95 = (array("d", [math.nan]) * SECONDS for _ in range(2))
        self._histogram = [0] * _BUCKETS
        self._first = self._second = now

    def add(self, seconds: float, failed: bool) -> None:
        place = self._second % SECONDS
        self._calls[place] += 1
        self._errors[place] += failed
        bucket = math.ceil(_PARTS * math.log2(max(seconds, _LEAST) / _LEAST))
        self._histogram[min(bucket, _BUCKETS - 1)] += 1

    def turn(self, now: int) -> None:
        """End the second that was under way, if another one is now."""
        if now <= self._second:
            return
        place = self._second % SECONDS
        if self._calls[place]:
            self._p50[place], self._p95[place] = (self._percentile(it) for it in (0.5, 0.95))
            self._histogram = [0] * _BUCKETS
        for second in range(max(self._second + 1, now - SECONDS + 1), now + 1):
            place = second % SECONDS
            self._calls[place] = self._errors[place] = 0
            self._p50[place] = self._p95[place] = math.nan
        self._second = now

    def since(self, first: int) -> Rates:
        first = max(first, self._first, self._second - SECONDS + 1)
        places = [it % SECONDS for it in range(first, self._second)]
        return Rates(
            first=first,
            calls=[self._calls[it] for it in places],
            errors=[self._errors[it] for it in places],
            p50=[_milliseconds(self._p50[it]) for it in places],
            p95=[_milliseconds(self._p95[it]) for it in places],
        )

    def _percentile(self, share: float) -> float:
        """Return the seconds that a share of the invocations did not take longer than."""
        left = share * sum(self._histogram)
        bucket = 0
        for bucket, count in enumerate(self._histogram):  # noqa: B007
            left -= count
            if left <= 0:
                break
        return float(_LEAST * 2 ** ((bucket - 0.5) / _PARTS))


def _milliseconds(seconds: float) -> float | None:
    return None if math.isnan(seconds) else float(f"{seconds * 1000:.3g}")
