"""A step of a load: requests at a rate, or by a number of callers, and their results."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from cli.load.request_inputs import Request
from endpoint_client import EndpointError

Send = Callable[[Request], Awaitable[object]]
PERCENTILES = {"p50": 50, "p95": 95, "p99": 99, "max": 100}
FEWEST = 50
"""Calls that must have ended before their errors end a step."""


@dataclass(frozen=True, kw_only=True)
class LoadStep:
    """The measurements of a step.

    `level` is the rate, or the number of callers. `latency_ms` has `PERCENTILES` and the mean of
    the calls that succeeded, and nothing where none did. `generator_cpu` is the part of one core
    that this process used: it sends with Python's threads, of which one computes at a time.
    `metrics` are CloudWatch's, by "endpoint/variant".
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
        """The part of the calls that failed."""
        return sum(self.errors.values()) / self.requests if self.requests else 0.0


class _Calls:
    """The calls of a step that have ended."""

    def __init__(self, send: Send, max_errors: float) -> None:
        self._send, self._max_errors = send, max_errors
        self.latencies: list[float] = []
        self.errors: Counter[str] = Counter()
        self.first_error = ""

    async def make(self, request: Request, due: float) -> None:
        """Send a request; its latency counts from when it was due."""
        try:
            await self._send(request)
        except EndpointError as error:
            self.first_error = self.first_error or f"{type(error).__name__}: {error}"
            self.errors[type(error).__name__] += 1
        else:
            self.latencies.append(asyncio.get_running_loop().time() - due)

    @property
    def ended(self) -> int:
        return len(self.latencies) + self.errors.total()

    @property
    def fail(self) -> bool:
        """Whether so many have failed that nothing more may be sent."""
        return self.ended >= FEWEST and self.errors.total() > self._max_errors * self.ended


async def open_loop(
    send: Send,
    requests: Iterator[Request],
    rate: float,
    seconds: float,
    max_errors: float,
    times: Iterable[float],
) -> LoadStep:
    """Send requests at the `times` when they are due, whatever became of those before.

    Their latency counts from that time, and not from when this process came to send them: else a
    pause of the endpoint would delay requests without being measured (coordinated omission).
    """

    async def offer(calls: _Calls, group: asyncio.TaskGroup) -> None:
        loop = asyncio.get_running_loop()
        start = loop.time()
        for offset in times:
            await asyncio.sleep(max(0.0, start + offset - loop.time()))
            if calls.fail:
                return
            group.create_task(calls.make(next(requests), start + offset))
        await asyncio.sleep(max(0.0, start + seconds - loop.time()))

    return await _measured(send, max_errors, rate, offer)


async def closed_loop(
    send: Send, requests: Iterator[Request], callers: int, seconds: float, max_errors: float
) -> LoadStep:
    """Have each of the callers send its next request when the one before has ended."""

    async def offer(calls: _Calls, group: asyncio.TaskGroup) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds

        async def call() -> None:
            while loop.time() < end and not calls.fail:
                await calls.make(next(requests), loop.time())

        await asyncio.gather(*(group.create_task(call()) for _ in range(callers)))

    return await _measured(send, max_errors, callers, offer)


async def _measured(
    send: Send,
    max_errors: float,
    level: float,
    offer: Callable[[_Calls, asyncio.TaskGroup], Awaitable[object]],
) -> LoadStep:
    """Return the measurements from the first request to the last answer."""
    calls, loop = _Calls(send, max_errors), asyncio.get_running_loop()
    begun, start, cpu = datetime.now(UTC), loop.time(), time.process_time()
    async with asyncio.TaskGroup() as group:
        await offer(calls, group)
        offered = loop.time() - start
    seconds = max(loop.time() - start, 1e-9)
    latencies: dict[str, float] = {}
    if calls.latencies:
        values = np.percentile(calls.latencies, [*PERCENTILES.values()]).tolist()
        latencies = dict(zip(PERCENTILES, values, strict=True)) | {"mean": np.mean(calls.latencies)}
    return LoadStep(
        level=level,
        start=begun,
        seconds=round(seconds, 3),
        offered_rps=round(calls.ended / max(offered, 1e-9), 2),
        achieved_rps=round(len(calls.latencies) / seconds, 2),
        latency_ms={name: round(1e3 * float(value), 3) for name, value in latencies.items()},
        requests=calls.ended,
        errors=dict(calls.errors),
        first_error=calls.first_error,
        generator_cpu=round((time.process_time() - cpu) / seconds, 2),
    )
