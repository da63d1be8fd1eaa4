"""An event loop with virtual time, and sample steps of a load test."""

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime
from itertools import repeat
from typing import Any, TypeVar

from cli.load.mix import ModelTarget
from cli.load.request_inputs import Request
from cli.load.step import LoadStep

T = TypeVar("T")
REQUESTS = repeat(Request(ModelTarget("dev-text", "m"), {}))
START = datetime(2026, 11, 22, 3, 0, 30, tzinfo=UTC)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock advances to the next timer if no callback is ready."""

    now = 0.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        loop: Any = self
        if not loop._ready and loop._scheduled:
            self.now = max(self.now, loop._scheduled[0]._when)
        super()._run_once()  # type: ignore[misc]


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine with virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def step(level: float, p95: float = 1.0, **changes: Any) -> LoadStep:
    """Return a step; `changes` replace the sample measurements."""
    measurements: dict[str, Any] = {
        "start": START,
        "seconds": 60.0,
        "offered_rps": level,
        "achieved_rps": level,
        "latency_ms": {"p50": p95 / 2, "p95": p95, "p99": 2 * p95, "max": 3 * p95, "mean": p95 / 2},
        "requests": 100,
        "errors": {},
        "first_error": "",
        "generator_cpu": 0.1,
    }
    return LoadStep(level=level, **{**measurements, **changes})
