"""The processor usage of instances."""

import time
from collections.abc import Callable, Iterable

from local_sagemaker.hosting.instance import RunningServer


class Processors:
    """Processor usage of servers between two measurements."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._before: dict[str, tuple[float, float]] = {}

    def percentages(self, servers: Iterable[RunningServer]) -> dict[str, float]:
        """Return percent of one processor since the last call by id, without new servers."""
        now = {server.id: (self._clock(), server.triton.cpu_seconds()) for server in servers}
        before, self._before = self._before, now
        return {
            name: round(max(0.0, used - before[name][1]) / (moment - before[name][0]) * 100, 2)
            for name, (moment, used) in now.items()
            if name in before and moment > before[name][0]
        }
