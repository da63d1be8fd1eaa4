"""A step of a load: requests at a rate or by a number of callers, and their measurements."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from cli.load.request_inputs import Request
from endpoint_client import EndpointError

Floats = npt.NDArray[np.float64]
Send = Callable[[Request], Awaitable[object]]
PERCENTILES = {"p50": 50, "p95": 95, "p99": 99, "max": 100}
MIN_CALLS = 50
"""Number of completed calls from which errors can end a step."""


@dataclass(frozen=True, kw_only=True)
class LoadStep:
    """The measurements of a step.

    `level` is the rate, or the number of callers. `latency_ms` has `PERCENTILES` and the mean of
    the successful calls; it is empty without one. `generator_cpu` is the share of one core that
    this process used, whose threads share one core. `metrics` maps "endpoint/variant" to
    CloudWatch metrics.
    """

    level: float
    start: datetime
    seconds: float
    offered_rps: float
    achieved_rps: float
    latency_ms: dict[str, float]
    requests: int
    errors: dict[str, int]
    first_error: str
    generator_cpu: float
    metrics: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def error_share(self) -> float:
        """The share of calls that failed."""
        return sum(self.errors.values()) / self.requests if self.requests else 0.0


class _Calls:
    """The completed calls of a step."""

    def __init__(self, send: Send, max_errors: float) -> None:
        self._send, self._max_errors = send, max_errors
        self.latencies: list[float] = []
        self.errors: Counter[str] = Counter()
        self.first_error = ""

    async def make(self, request: Request, due: float) -> None:
        """Send a request; measure its latency from the time at which it was due."""
        try:
            await self._send(request)
        except EndpointError as error:
            self.first_error = self.first_error or f"{type(error).__name__}: {error}"
            self.errors[type(error).__name__] += 1
        else:
            self.latencies.append(asyncio.get_running_loop().time() - due)

    @property
    def completed(self) -> int:
        return len(self.latencies) + self.errors.total()

    @property
    def failed(self) -> bool:
        """Whether too many calls have failed to send more."""
        errors = self.errors.total()
        return self.completed >= MIN_CALLS and errors > self._max_errors * self.completed


def poisson_arrivals(rate: float, seconds: float, random: np.random.Generator) -> Floats:
    """Return the sorted arrival times of a Poisson process, in seconds from the start.

    Given their number, the arrivals of a Poisson process are independent and uniform.
    """
    return np.sort(random.uniform(0, seconds, random.poisson(rate * seconds)))


async def open_loop(
    send: Send,
    requests: Iterator[Request],
    rate: float,
    seconds: float,
    max_errors: float,
    times: Iterable[float],
) -> LoadStep:
    """Send requests at `times`, without waiting for earlier responses.

    Latency is measured from that time, not from the time of sending: otherwise a pause of the
    endpoint would delay requests without being measured (coordinated omission).
    """

    async def send_requests(calls: _Calls, group: asyncio.TaskGroup) -> None:
        loop = asyncio.get_running_loop()
        start = loop.time()
        for offset in times:
            await asyncio.sleep(max(0.0, start + offset - loop.time()))
            if calls.failed:
                return
            group.create_task(calls.make(next(requests), start + offset))
        await asyncio.sleep(max(0.0, start + seconds - loop.time()))

    return await _measure(send, max_errors, rate, send_requests)


async def closed_loop(
    send: Send, requests: Iterator[Request], callers: int, seconds: float, max_errors: float
) -> LoadStep:
    """Let each caller send its next request after the previous answer."""

    async def send_requests(calls: _Calls, group: asyncio.TaskGroup) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds

        async def call() -> None:
            while loop.time() < end and not calls.failed:
                await calls.make(next(requests), loop.time())

        await asyncio.gather(*(group.create_task(call()) for _ in range(callers)))

    return await _measure(send, max_errors, callers, send_requests)


async def _measure(
    send: Send,
    max_errors: float,
    level: float,
    send_requests: Callable[[_Calls, asyncio.TaskGroup], Awaitable[object]],
) -> LoadStep:
    """Return the measurements from the first request to the last answer."""
    calls, loop = _Calls(send, max_errors), asyncio.get_running_loop()
    start_time, start, cpu = datetime.now(UTC), loop.time(), time.process_time()
    async with asyncio.TaskGroup() as group:
        await send_requests(calls, group)
        offered = loop.time() - start
    seconds = max(loop.time() - start, 1e-9)
    latencies: dict[str, float] = {}
    if calls.latencies:
        values = np.percentile(calls.latencies, [*PERCENTILES.values()]).tolist()
        latencies = dict(zip(PERCENTILES, values, strict=True)) | {"mean": np.mean(calls.latencies)}
    return LoadStep(
        level=level,
        start=start_time,
        seconds=round(seconds, 3),
        offered_rps=round(calls.completed / max(offered, 1e-9), 2),
        achieved_rps=round(len(calls.latencies) / seconds, 2),
        latency_ms={name: round(1e3 * float(value), 3) for name, value in latencies.items()},
        requests=calls.completed,
        errors=dict(calls.errors),
        first_error=calls.first_error,
        generator_cpu=round((time.process_time() - cpu) / seconds, 2),
    )
