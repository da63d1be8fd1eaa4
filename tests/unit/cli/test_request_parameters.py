"""Tests of the option `--parameter`."""

import pytest

from cli.errors import CommandError
from cli.request_parameters import Parameters, parse


def test_values_are_json_or_text() -> None:
    arguments = [
        "sequence_id=7",
        "sequence_start=true",
        "rate=0.5",
        "user=ada",
        "list=[1]",
        "none=",
    ]
    expected: Parameters = {"sequence_id": 7, "sequence_start": True, "rate": 0.5, "user": "ada"}
    assert parse(arguments) == {**expected, "list": "[1]", "none": ""}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["sequence_id"], "'sequence_id': write NAME=VALUE"),
        (["=7"], "'=7': write NAME=VALUE"),
        (["a=1", "a=2"], "a is set twice"),
    ],
)
def test_invalid_parameter_is_an_error(arguments: list[str], reason: str) -> None:
    with pytest.raises(CommandError, match=reason):
        parse(arguments)
