from fractions import Fraction
from typing import Any

import pytest

from local_sagemaker.sagemaker.deployment import Deployment, TrafficStep, parse_deployment
from local_sagemaker.tests.sagemaker.policies import auto_rollback, blue_green, rolling, size


def shares(config: dict[str, Any], count: int = 10) -> list[float]:
    return [float(step.share) for step in parse_deployment(config, {"only": count}).steps]


def test_canary_bakes_before_the_full_shift() -> None:
    config = blue_green("CANARY", CanarySize=size(30), wait=300, termination=60, timeout=1800)
    planned = parse_deployment({**config, **auto_rollback("errors", "slow")}, {"only": 3})
    assert planned == Deployment(
        (
            TrafficStep(Fraction(30, 100), 300),
            TrafficStep(Fraction(1), 60),
        ),
        alarms=("errors", "slow"),
        timeout_seconds=1800,
    )


@pytest.mark.parametrize(
    ("step_size", "expected"),
    [
        (size(50), [0.5, 1]),
        (size(33), [0.33, 0.66, 1]),  # three steps, as in a figure of the developer guide
        (size(30), [0.3, 0.6, 0.9, 1]),
        (size(10), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]),
        (size(4, "INSTANCE_COUNT"), [0.4, 0.8, 1]),
    ],
)
def test_linear_shift_has_equal_steps(step_size: dict[str, Any], expected: list[float]) -> None:
    config = blue_green("LINEAR", LinearStepSize=step_size, wait=300, termination=60)
    assert shares(config) == expected
    steps = parse_deployment(config, {"only": 10}).steps
    assert [step.bake_seconds for step in steps] == [300] * (len(expected) - 1) + [60]


def test_instance_count_is_a_share_of_the_smallest_variant() -> None:
    config = blue_green("CANARY", CanarySize=size(1, "INSTANCE_COUNT"))
    assert parse_deployment(config, {"a": 8, "b": 4}).steps[0].share == Fraction(1, 4)


@pytest.mark.parametrize(
    ("batch", "count", "expected"),
    [
        (size(33), 3, [Fraction(1, 3), Fraction(2, 3), Fraction(1)]),  # as in AWS's notebook
        (size(50), 5, [Fraction(2, 5), Fraction(4, 5), Fraction(1)]),
        (size(5), 1, [Fraction(1)]),
        (size(2, "INSTANCE_COUNT"), 4, [Fraction(1, 2), Fraction(1)]),
    ],
)
def test_rolling_batch_has_whole_instances(
    batch: dict[str, Any], count: int, expected: list[Fraction]
) -> None:
    planned = parse_deployment(rolling(batch, wait=120), {"only": count})
    assert [step.share for step in planned.steps] == expected
    assert {step.bake_seconds for step in planned.steps} == {120}
    assert planned.is_rolling
