"""The sentence of a reason that CloudFormation gives."""

import pytest

from release.delivery.stack_failures import useful


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("Invalid request (RequestId: a-1)", "Invalid request"),
        (
            "Received response status [FAILED] from custom resource. Message returned: Error: no"
            "\n\nLogs: /aws/lambda/f\n\n    at f (/var/task/framework.js:2:6)\n (RequestId: a-1)",
            "no",
        ),
        ("It is in a state\n that ends", "It is in a state that ends"),
        ("", ""),
    ],
)
def test_a_reason_has_neither_stack_trace_nor_request_id(reason: str, sentence: str) -> None:
    assert useful(reason) == sentence
