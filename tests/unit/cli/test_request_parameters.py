"""What a person writes behind `--parameter`, and how it goes into a request."""

import json

import pytest

from cli.errors import CommandError
from cli.request_parameters import Parameters, parse, with_parameters
from endpoint_client._payload import BINARY, JSON


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


def test_parameters_go_into_json_and_into_the_header_of_a_binary_request() -> None:
    request = {"inputs": [], "parameters": {"binary_data_output": True}}
    header = json.dumps(request).encode()
    added = {**request, "parameters": {"binary_data_output": True, "sequence_id": 7}}
    body, content_type = with_parameters(header, JSON, {"sequence_id": 7})
    assert (json.loads(body), content_type) == (added, JSON)
    body, content_type = with_parameters(
        header + b"\0\1", f"{BINARY}{len(header)}", {"sequence_id": 7}
    )
    length = int(content_type.removeprefix(BINARY))
    assert json.loads(body[:length]) == added
    assert body[length:] == b"\0\1"
