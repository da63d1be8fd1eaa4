"""Tests of a step of a load, with virtual time."""

import asyncio

import numpy as np
import pytest

from cli.load.request_inputs import Request
from cli.load.step import MIN_CALLS, closed_loop, open_loop, poisson_arrivals
from endpoint_client import NoCapacity
from tests.unit.cli.load.support import REQUESTS, run


def test_arrivals_are_a_poisson_process() -> None:
    times = poisson_arrivals(50, 400, np.random.default_rng(0))
    gaps = np.diff(times)
    assert len(times) == pytest.approx(20_000, rel=0.03)
    assert gaps.min() >= 0
    assert gaps.mean() == pytest.approx(1 / 50, rel=0.03)
    assert gaps.std() == pytest.approx(1 / 50, rel=0.05)  # exponential distribution
    random = np.random.default_rng(1)
    counts = [len(poisson_arrivals(50, 1, random)) for _ in range(2000)]
    assert np.var(counts) == pytest.approx(50, rel=0.2)


def test_latency_is_measured_from_the_due_time() -> None:
    """Requests are processed one by one, and the first takes 1 s."""
    lock = asyncio.Lock()

    async def send(_: Request) -> None:
        async with lock:
            first = asyncio.get_running_loop().time() < 0.05
            await asyncio.sleep(1.0 if first else 0.01)

    times = [number / 10 for number in range(10)]
    measured = run(open_loop(send, REQUESTS, 10, 1.0, 0.5, times))
    # Due at 0, 0.1 ... 0.9; answered at 1, 1.01 ... 1.09.
    latencies = [1e3 * (1 + number / 100 - due) for number, due in enumerate(times)]
    p50, p95 = np.percentile(latencies, [50, 95])
    assert measured.latency_ms["p50"] == pytest.approx(p50, rel=1e-3)
    assert measured.latency_ms["p95"] == pytest.approx(p95, rel=1e-3)
    assert measured.latency_ms["max"] == pytest.approx(1000, rel=1e-3)
    assert measured.offered_rps == 10
    assert measured.achieved_rps == pytest.approx(10 / 1.09, rel=1e-2)


def test_callers_wait_for_the_previous_answer() -> None:
    async def send(_: Request) -> None:
        await asyncio.sleep(0.1)

    measured = run(closed_loop(send, REQUESTS, 4, 9.95, 0.01))
    assert measured.requests == 400
    assert measured.achieved_rps == pytest.approx(40)
    assert measured.latency_ms["p99"] == pytest.approx(100)


def test_errors_are_counted_by_type_and_end_a_step() -> None:
    call_count = 0

    async def send(_: Request) -> None:
        nonlocal call_count
        call_count += 1
        await asyncio.sleep(0.01)
        raise NoCapacity("the queue is full")

    times = np.arange(0, 60, 0.1)
    measured = run(open_loop(send, REQUESTS, 10, 60, 0.05, times))
    assert measured.errors == {"NoCapacity": call_count}
    assert measured.error_share == 1
    assert measured.first_error == "NoCapacity: the queue is full"
    assert measured.latency_ms == {}
    assert MIN_CALLS <= call_count < 2 * MIN_CALLS
