"""The state of an alarm, calculated from the data points of its last periods.

Source of every rule, unless stated otherwise: the CloudWatch user guide, "Alarm evaluation" and
"Configuring how CloudWatch alarms treat missing data" (alarms-and-missing-data), with its tables.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass

EXTRA_PERIODS = 2
"""CloudWatch retrieves more data points than it evaluates: "the 5 most recent" for 3 in the guide's
examples. The number for other alarms is not documented."""

Points = Sequence[float | None]
"""Data points of an alarm's last periods, the oldest first; None for a period without data."""

ALARM, OK, INSUFFICIENT_DATA = "ALARM", "OK", "INSUFFICIENT_DATA"

_BREACHES: dict[str, tuple[Callable[[float, float], bool], str]] = {
    "GreaterThanOrEqualToThreshold": (operator.ge, "greater than or equal to"),
    "GreaterThanThreshold": (operator.gt, "greater than"),
    "LessThanThreshold": (operator.lt, "less than"),
    "LessThanOrEqualToThreshold": (operator.le, "less than or equal to"),
}


@dataclass(frozen=True)
class Condition:
    """The condition of an alarm: `datapoints` of the last `periods` breach the threshold.

    `missing` is the alarm's TreatMissingData.
    """

    comparison: str
    threshold: float
    periods: int
    datapoints: int
    missing: str = "missing"

    @property
    def range(self) -> int:
        """The evaluation range: the number of retrieved periods."""
        return self.periods + EXTRA_PERIODS

    def is_breaching(self, value: float) -> bool:
        """Return whether a data point breaches the threshold."""
        return _BREACHES[self.comparison][0](value, self.threshold)

    def state(self, points: Points) -> str | None:
        """Return the state for the data of the evaluation range; None keeps the old state."""
        evaluated = self.evaluated_points(points)
        breaching = sum(map(self.is_breaching, evaluated))
        missing = self.periods - len(evaluated)
        if self.missing == "breaching":
            breaching += missing
        if missing and self.missing in ("missing", "ignore"):
            if not evaluated:
                return self._state_without_data()
            if breaching == len(evaluated):
                return self._state_with_missing_data(points)
        return ALARM if breaching >= self.datapoints else OK

    def evaluated_points(self, points: Points) -> list[float]:
        """Return the evaluated data points, the oldest first.

        Data points of older periods in the range replace missing ones.
        """
        return [point for point in points if point is not None][-self.periods :]

    def _state_with_missing_data(self, points: Points) -> str | None:
        """Return the state if some data points are missing and all others breach.

        It is ALARM if the oldest data point "is at least as old as the value of Datapoints to
        Alarm", even if there are too few. If missing data is ignored, the current state remains
        (tables). With younger data the alarm does "not go immediately into ALARM"; that it is
        INSUFFICIENT_DATA until then is from an earlier edition of the page
        (awsdocs/amazon-cloudwatch-user-guide, "- - - - X").
        """
        oldest = next(
            age for age, point in zip(_ages(points), points, strict=True) if point is not None
        )
        if self.missing == "missing" and oldest >= self.datapoints:
            return ALARM
        return self._state_without_data()

    def _state_without_data(self) -> str | None:
        return None if self.missing == "ignore" else INSUFFICIENT_DATA

    def reason(self, state: str, points: Sequence[tuple[str, float]]) -> str:
        """Return the StateReason for the evaluated data points, the newest first.

        A point is a time such as "08/11/22 11:25:00" and a value. Source of the messages: the
        guide's example of an event, and notifications published by users; the numbers of missing
        data points have no source.
        """
        if state == INSUFFICIENT_DATA:
            return f"Insufficient Data: {_plural(self.periods - len(points), 'datapoint')} unknown."
        if not points:
            return (
                f"Threshold Crossed: no datapoints were received for {_periods(self.periods)} and "
                f"{_plural(self.periods, 'missing datapoint')} treated as "
                f"[{'Breaching' if self.missing == 'breaching' else 'NonBreaching'}]."
            )
        listed = ", ".join(f"{value} ({time})" for time, value in points)
        negation = "" if state == ALARM else " not"
        threshold = f"{_BREACHES[self.comparison][1]} the threshold ({self.threshold})"
        if self.periods == 1:
            # localstack/localstack, test_cloudwatch.snapshot.json, test_put_metric_alarm
            return f"Threshold Crossed: 1 datapoint [{listed}] was{negation} {threshold}."
        count = sum(self.is_breaching(value) is (state == ALARM) for _, value in points)
        minimum = self.datapoints if state == ALARM else self.periods - self.datapoints + 1
        change = "OK -> ALARM" if state == ALARM else "ALARM -> OK"
        return (
            f"Threshold Crossed: {count} out of the last {len(points)} datapoints [{listed}] "
            f"{'was' if count == 1 else 'were'}{negation} {threshold} (minimum "
            f"{minimum} datapoint{'' if minimum == 1 else 's'} for {change} transition)."
        )


def _ages(points: Points) -> range:
    """Return the ages of the points in periods; the last point is one period old."""
    return range(len(points), 0, -1)


def _periods(number: int) -> str:
    return "1 period" if number == 1 else f"{number} periods"


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun} was" if number == 1 else f"{number} {noun}s were"
