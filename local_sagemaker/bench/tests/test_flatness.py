"""What a run of the soak calls growth, and what it does not."""

import random
from collections.abc import Callable

import pytest

from local_sagemaker.bench.soak.flatness import Tolerance, trend

MEMORY = Tolerance(constant=4, share=0.02)
SECONDS = range(0, 3600, 5)
MIB_PER_KIB = 1 / 1024


def measured(value: Callable[[int], float]) -> list[float]:
    """Return samples of memory, which load makes go up and down by some MiB."""
    chance = random.Random(1)
    return [100 + chance.uniform(-3, 3) + value(second) for second in SECONDS]


@pytest.mark.parametrize("kib_a_minute", [200, 2000])
def test_a_leak_is_found_and_its_slope_told(kib_a_minute: float) -> None:
    leak = kib_a_minute * MIB_PER_KIB / 60
    found = trend(SECONDS, measured(lambda second: leak * second), MEMORY)
    assert not found.flat
    assert found.hourly == pytest.approx(leak * 3600, rel=0.05)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(lambda _: 0, id="noise"),
        pytest.param(lambda second: 50 * (second > 600), id="warm-up"),
        pytest.param(lambda second: 500 * (second % 100 < 20), id="peaks"),
        pytest.param(lambda second: 50 * (second > 3300), id="last-minutes"),
        pytest.param(lambda second: -0.01 * second, id="shrinks"),
    ],
)
def test_what_is_no_leak_is_flat(value: Callable[[int], float]) -> None:
    assert trend(SECONDS, measured(value), MEMORY).flat


def test_a_large_process_may_have_more_noise_than_a_small_one() -> None:
    def growth(second: int) -> float:
        return second / 3600 * 10

    assert not trend(SECONDS, measured(growth), MEMORY).flat
    assert trend(SECONDS, [it + 300 for it in measured(growth)], MEMORY).flat
