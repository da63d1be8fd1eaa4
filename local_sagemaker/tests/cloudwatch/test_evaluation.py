"""Alarm states: tables and examples of the CloudWatch user guide."""

import pytest

from local_sagemaker.cloudwatch.evaluation import Condition

TREATMENTS = ("missing", "ignore", "breaching", "notBreaching")
VALUES = {"0": 0.0, "X": 9.0, "-": None}


def condition(datapoints: int, missing: str, periods: int = 3) -> Condition:
    return Condition("GreaterThanThreshold", 5.0, periods, datapoints, missing)


def points(text: str) -> list[float | None]:
    return [VALUES[part] for part in text.split()]


@pytest.mark.parametrize(
    ("datapoints", "data", "states"),
    [
        # alarms-and-missing-data, the first table: 3 of 3
        (3, "0 - X - X", ("OK", "OK", "OK", "OK")),
        (3, "0 - - - -", ("OK", "OK", "OK", "OK")),
        (3, "- - - - -", ("INSUFFICIENT_DATA", None, "ALARM", "OK")),
        (3, "0 X X - X", ("ALARM", "ALARM", "ALARM", "ALARM")),
        (3, "- - X - -", ("ALARM", None, "ALARM", "OK")),
        # the second table: 2 of 3
        (2, "0 - X - X", ("ALARM", "ALARM", "ALARM", "ALARM")),
        (2, "0 0 X 0 X", ("ALARM", "ALARM", "ALARM", "ALARM")),
        (2, "0 - X - -", ("OK", "OK", "ALARM", "OK")),
        (2, "- - - - 0", ("OK", "OK", "ALARM", "OK")),
        (2, "- - - X -", ("ALARM", None, "ALARM", "OK")),
        # "not go immediately into ALARM": table of the earlier edition
        (3, "- - - - X", ("INSUFFICIENT_DATA", None, "ALARM", "OK")),
        (3, "- - - X -", ("INSUFFICIENT_DATA", None, "ALARM", "OK")),
        (3, "X - - - -", ("ALARM", None, "ALARM", "OK")),
        # without missing data, the oldest two datapoints are ignored
        (3, "X X 0 X X", ("OK", "OK", "OK", "OK")),
        (3, "0 0 X X X", ("ALARM", "ALARM", "ALARM", "ALARM")),
    ],
)
def test_tables_of_the_user_guide(
    datapoints: int, data: str, states: tuple[str | None, ...]
) -> None:
    result = tuple(condition(datapoints, treatment).state(points(data)) for treatment in TREATMENTS)
    assert result == states


@pytest.mark.parametrize(
    ("comparison", "breaching"),
    [
        ("GreaterThanThreshold", [6.0]),
        ("GreaterThanOrEqualToThreshold", [5.0, 6.0]),
        ("LessThanThreshold", [4.0]),
        ("LessThanOrEqualToThreshold", [4.0, 5.0]),
    ],
)
def test_comparison_decides_which_values_breach(comparison: str, breaching: list[float]) -> None:
    condition_ = Condition(comparison, 5.0, 1, 1)
    assert [value for value in (4.0, 5.0, 6.0) if condition_.is_breaching(value)] == breaching


DATAPOINTS = [("08/11/22 11:25:00", 9.0), ("08/11/22 11:24:00", 0.0), ("08/11/22 11:23:00", 9.5)]


@pytest.mark.parametrize(
    ("state", "listed", "reason"),
    [
        (
            "ALARM",
            DATAPOINTS,
            "Threshold Crossed: 2 out of the last 3 datapoints [9.0 (08/11/22 11:25:00), 0.0 "
            "(08/11/22 11:24:00), 9.5 (08/11/22 11:23:00)] were greater than the threshold (5.0) "
            "(minimum 2 datapoints for OK -> ALARM transition).",
        ),
        (
            "OK",
            DATAPOINTS[1:2],
            "Threshold Crossed: 1 out of the last 1 datapoints [0.0 (08/11/22 11:24:00)] was not "
            "greater than the threshold (5.0) (minimum 2 datapoints for ALARM -> OK transition).",
        ),
        ("INSUFFICIENT_DATA", [], "Insufficient Data: 3 datapoints were unknown."),
        ("INSUFFICIENT_DATA", DATAPOINTS[:2], "Insufficient Data: 1 datapoint was unknown."),
        (
            "OK",
            [],
            "Threshold Crossed: no datapoints were received for 3 periods and 3 missing datapoints "
            "were treated as [NonBreaching].",
        ),
    ],
)
def test_state_reason_describes_the_datapoints(
    state: str, listed: list[tuple[str, float]], reason: str
) -> None:
    assert condition(2, "notBreaching").reason(state, listed) == reason
