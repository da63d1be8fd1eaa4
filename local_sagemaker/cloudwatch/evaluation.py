"""The state of an alarm, by the data of its last periods.

Source of every rule, unless it says otherwise: the CloudWatch user guide, "Alarm evaluation" and
"Configuring how CloudWatch alarms treat missing data" (alarms-and-missing-data), with its tables.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass

EXTRA_PERIODS = 2
"""CloudWatch retrieves more data points than are evaluated: "the 5 most recent" for 3 in the
guide's examples. How many more for other numbers is not said."""

Points = Sequence[float | None]
"""Of an alarm's last periods, the oldest first; None where there is no data."""

ALARM, OK, INSUFFICIENT_DATA = "ALARM", "OK", "INSUFFICIENT_DATA"

_BREACHES: dict[str, tuple[Callable[[float, float], bool], str]] = {
    "GreaterThanOrEqualToThreshold": (operator.ge, "greater than or equal to"),
    "GreaterThanThreshold": (operator.gt, "greater than"),
    "LessThanThreshold": (operator.lt, "less than"),
    "LessThanOrEqualToThreshold": (operator.le, "less than or equal to"),
}


@dataclass(frozen=True)
class Condition:
    """The condition of ALARM: `datapoints` of the last `periods` breach the threshold.

    `missing` is how missing data is treated: breaching, notBreaching, ignore or missing.
    """

    comparison: str
    threshold: float
    periods: int
    datapoints: int
    missing: str = "missing"

    @property
    def range(self) -> int:
        """The number of periods that are evaluated: the evaluation range."""
        return self.periods + EXTRA_PERIODS

    def breached(self, value: float) -> bool:
        """Whether a data point breaches the threshold."""
        return _BREACHES[self.comparison][0](value, self.threshold)

    def state(self, points: Points) -> str | None:
        """Return the state by the data of the evaluation range; None where the old one is kept."""
        evaluated = self.evaluated(points)
        breaching = sum(map(self.breached, evaluated))
        filled = self.periods - len(evaluated)
        if self.missing == "breaching":
            breaching += filled
        if filled and self.missing in ("missing", "ignore"):
            if not evaluated:
                return self._unknown()
            if breaching == len(evaluated):
                return self._premature(points)
        return ALARM if breaching >= self.datapoints else OK

    def evaluated(self, points: Points) -> list[float]:
        """Return the real data that is evaluated, the oldest first.

        That of older periods in the range stands in for what is missing in the last ones.
        """
        return [point for point in points if point is not None][-self.periods :]

    def _premature(self, points: Points) -> str | None:
        """Return the state where all the data there is breaches, and some is missing.

        ALARM if the oldest of it "is at least as old as the value of Datapoints to Alarm", however
        little there is. That the current state is retained where missing data is ignored is in the
        tables. What is younger does "not go immediately into ALARM"; that it is INSUFFICIENT_DATA
        until then has an earlier edition of the page (awsdocs/amazon-cloudwatch-user-guide, "- - -
        - X").
        """
        oldest = next(
            age for age, point in zip(_ages(points), points, strict=True) if point is not None
        )
        if self.missing == "missing" and oldest >= self.datapoints:
            return ALARM
        return self._unknown()

    def _unknown(self) -> str | None:
        return None if self.missing == "ignore" else INSUFFICIENT_DATA

    def reason(self, state: str, points: Sequence[tuple[str, float]]) -> str:
        """Return why an alarm is in a state, by the evaluated data, the newest first.

        Each is a time, as "08/11/22 11:25:00", and a value. The words: the guide's example of an
        event, and notifications that users have shown; the numbers of missing data are ours.
        """
        if state == INSUFFICIENT_DATA:
            return f"Insufficient Data: {_many(self.periods - len(points), 'datapoint')} unknown."
        if not points:
            return (
                f"Threshold Crossed: no datapoints were received for {_periods(self.periods)} and "
                f"{_many(self.periods, 'missing datapoint')} treated as "
                f"[{'Breaching' if self.missing == 'breaching' else 'NonBreaching'}]."
            )
        shown = ", ".join(f"{value} ({time})" for time, value in points)
        negation = "" if state == ALARM else " not"
        threshold = f"{_BREACHES[self.comparison][1]} the threshold ({self.threshold})"
        if self.periods == 1:
            # localstack/localstack, test_cloudwatch.snapshot.json, test_put_metric_alarm
            return f"Threshold Crossed: 1 datapoint [{shown}] was{negation} {threshold}."
        counted = sum(self.breached(value) is (state == ALARM) for _, value in points)
        need = self.datapoints if state == ALARM else self.periods - self.datapoints + 1
        change = "OK -> ALARM" if state == ALARM else "ALARM -> OK"
        return (
            f"Threshold Crossed: {counted} out of the last {len(points)} datapoints [{shown}] "
            f"{'was' if counted == 1 else 'were'}{negation} {threshold} (minimum "
            f"{need} datapoint{'' if need == 1 else 's'} for {change} transition)."
        )


def _ages(points: Points) -> range:
    """Return how many periods old each is: the last one is one period old."""
    return range(len(points), 0, -1)


def _periods(number: int) -> str:
    return "1 period" if number == 1 else f"{number} periods"


def _many(number: int, what: str) -> str:
    return f"{number} {what} was" if number == 1 else f"{number} {what}s were"
