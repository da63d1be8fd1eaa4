"""Test of readable CloudFormation failure reasons."""

import pytest

from delivery.stack_failures import readable_reason


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
def test_stack_trace_and_request_id_are_removed(reason: str, sentence: str) -> None:
    assert readable_reason(reason) == sentence
