"""Durations, in the whole seconds that SageMaker and Application Auto Scaling take."""

import math
from collections.abc import Iterator
from functools import lru_cache

from aws_cdk import Duration

from triton_sagemaker.problems import Problem


def seconds(duration: Duration) -> int:
    """Return a duration in seconds, rounded up."""
    return math.ceil(_seconds(duration))


def duration_problems(where: str, duration: Duration, low: int, high: int) -> Iterator[Problem]:
    """Yield that a duration is not one of `low` to `high` whole seconds."""
    given = _seconds(duration)
    if given != int(given) or not low <= given <= high:
        yield Problem(where, f"{given} s is out of range: write {low} to {high} whole seconds")


@lru_cache(maxsize=64)
def _seconds(duration: Duration) -> float:
    """Return a duration in seconds; each object, such as a default, is converted by jsii once."""
    return duration.to_seconds(integral=False)
