"""Checks of how a variant scales, each with the argument and the key of a stage."""

from collections.abc import Iterator

from platform_facts.rules import Keys, scaling
from platform_facts.rules.ranges import MAX_COUNT, MIN_COUNT, Range
from triton_sagemaker.problems import Problem, of_rules


def limits(where: str, low: int, high: int, path: Keys = ("scaling",)) -> Iterator[Problem]:
    """Yield what is wrong with a pair of limits."""
    least = MIN_COUNT.at(*path, "min_count")(low)
    most = MAX_COUNT.at(*path, "max_count")(high)
    if not least and not most:
        most = scaling.limits.at(*path, "max_count")(low, high)
    yield from of_rules(least, low, where=f"{where}.min_capacity")
    yield from of_rules(most, low, high, where=f"{where}.max_capacity")


def initial_count(count: int, low: int, high: int) -> Iterator[Problem]:
    """Yield that a variant starts outside its limits."""
    yield from of_rules(scaling.count_within_limits(count, low, high), count, low, high)


def within(limits: Range, where: str, value: float) -> Iterator[Problem]:
    """Yield that a value is out of its range."""
    yield from of_rules(limits(value), value, where=where)
