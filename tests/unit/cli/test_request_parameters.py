"""`--parameter` of `try` and `invoke`."""

import pytest

from cli.errors import CommandError
from cli.request_parameters import Parameters, parse


def test_values_are_json_or_text() -> None:
    written = ["sequence_id=7", "sequence_start=true", "rate=0.5", "user=ada", "list=[1]", "none="]
    expected: Parameters = {"sequence_id": 7, "sequence_start": True, "rate": 0.5, "user": "ada"}
    assert parse(written) == {**expected, "list": "[1]", "none": ""}


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (["sequence_id"], "'sequence_id': write NAME=VALUE"),
        (["=7"], "'=7': write NAME=VALUE"),
        (["a=1", "a=2"], "a is given twice"),
    ],
)
def test_what_is_no_parameter_is_refused(written: list[str], reason: str) -> None:
    with pytest.raises(CommandError, match=reason):
        parse(written)
