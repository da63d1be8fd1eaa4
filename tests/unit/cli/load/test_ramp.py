"""Tests of the levels of a load's steps."""

import pytest

from cli.load.ramp import Objective, Ramp, find_sustained_step
from cli.load.step import LoadStep
from tests.unit.cli.load.support import run, step

P95 = Objective(p95=50)


def levels(ramp: Ramp, capacity: float) -> tuple[list[float], LoadStep | None]:
    """Return the levels of a load on an endpoint with a capacity, and the sustained step."""

    async def run_step(level: float) -> LoadStep:
        return step(level, p95=10 if level <= capacity else 500)

    steps = run(ramp.run(run_step, P95, lambda *_: None))
    return [step.level for step in steps], find_sustained_step(steps, P95)


def test_load_ends_with_a_missed_objective() -> None:
    step_levels, best = levels(Ramp(start=10, growth=1.5, max_steps=12), capacity=20)
    assert step_levels == [10, 15, 22.5]
    assert best
    assert best.level == 15


def test_load_ends_after_the_maximum_of_steps() -> None:
    assert levels(Ramp(start=10, growth=2, max_steps=3), capacity=1e9)[0] == [10, 20, 40]


@pytest.mark.parametrize("capacity", [0.3, 7, 61.8])
def test_sizing_narrows_the_rate_to_ten_percent(capacity: float) -> None:
    ramp = Ramp(start=4, growth=2, max_steps=40, precision=1.1)
    _, best = levels(ramp, capacity)
    assert best
    assert capacity / 1.1 <= best.level <= capacity


def test_sizing_without_a_sustained_rate() -> None:
    ramp = Ramp(start=16, growth=2, max_steps=40, precision=1.1)
    assert levels(ramp, capacity=0) == ([16, 8, 4, 2, 1], None)


def test_missed_objective_has_a_reason() -> None:
    assert P95.miss_reason(step(1, p95=50)) == ""
    assert P95.miss_reason(step(1, p95=61.04)) == "p95 is 61.0 ms, the objective 50 ms"
    assert Objective(p99=50).miss_reason(step(1, p95=30)) == "p99 is 60.0 ms, the objective 50 ms"
    failed = step(1, errors={"NoCapacity": 2}, first_error="NoCapacity: m: queue full")
    assert P95.miss_reason(failed) == (
        "2.0% of the calls failed (2 NoCapacity): NoCapacity: m: queue full"
    )


def test_step_above_a_miss_is_not_sustained() -> None:
    steps = [step(1), step(2, p95=99), step(4)]
    best = find_sustained_step(steps, P95)
    assert best
    assert best.level == 1
