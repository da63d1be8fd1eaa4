"""Checks of how a variant scales, each with the path of the argument."""

from collections.abc import Iterator

from triton_sagemaker.problems import Problem


def limits(where: str, low: int, high: int) -> Iterator[Problem]:
    """Yield what is wrong with a pair of limits."""
    if low < 1:
        yield Problem(
            f"{where}.min_capacity",
            f"{low} is too few: write 1 or more; only asynchronous endpoints, and those of "
            "inference components, scale to zero",
        )
    if high < low:
        yield Problem(
            f"{where}.max_capacity", f"{high} is less than min_capacity {low}: write more"
        )


def initial_count(count: int, low: int, high: int) -> Iterator[Problem]:
    """Yield that a variant starts outside its limits."""
    if low <= high and not low <= count <= high:
        yield Problem(
            "instances.initial_count",
            f"{count} is outside the scaling limits: write {low} to {high}",
        )


def above_zero(where: str, value: float) -> Iterator[Problem]:
    """Yield that a target is not above 0."""
    if value <= 0:
        yield Problem(where, f"{value} is too small: write more than 0")


def percent(where: str, value: float, *, most: float) -> Iterator[Problem]:
    """Yield that a share is not above 0 and up to `most`."""
    if not 0 < value <= most:
        yield Problem(where, f"{value} is out of range: write more than 0 and at most {most}")
