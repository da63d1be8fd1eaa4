"""The processor utilization of instances."""

from collections.abc import Callable, Iterable
from time import monotonic

from local_sagemaker.hosting.instance import RunningServer


class Processors:
    """Processor utilization of servers since the previous measurement."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._before: dict[str, tuple[float, float]] = {}

    def percentages(self, servers: Iterable[RunningServer]) -> dict[str, float]:
        """Return each server's utilization since the previous call, by id, in percent of one CPU.

        Servers that were not measured before are missing.
        """
        now = {server.id: (self._clock(), server.triton.cpu_seconds()) for server in servers}
        before, self._before = self._before, now
        return {
            name: round(max(0.0, used - before[name][1]) / (time - before[name][0]) * 100, 2)
            for name, (time, used) in now.items()
            if name in before and time > before[name][0]
        }
