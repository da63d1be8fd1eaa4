import base64
from typing import Any

import pytest

from local_sagemaker.errors import ApiError
from local_sagemaker.sagemaker.resources import ENDPOINT

A = {
    "EndpointName": "a-text",
    "EndpointArn": "arn:a",
    "EndpointStatus": "InService",
    "CreationTime": 10.0,
    "LastModifiedTime": 50.0,
    "EndpointConfigName": "not in a summary",
}
B = {**A, "EndpointName": "b-Text", "EndpointStatus": "Failed", "CreationTime": 30.0}
C = {**A, "EndpointName": "c", "CreationTime": 20.0, "LastModifiedTime": 40.0}


def names(answer: dict[str, Any]) -> str:
    """Return the first letters of the endpoints of an answer."""
    return "".join(endpoint["EndpointName"][0] for endpoint in answer["Endpoints"])


def listed(**request: Any) -> str:
    return names(ENDPOINT.list([A, B, C], request))


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({}, "bca"),
        ({"SortOrder": "Ascending"}, "acb"),
        ({"SortBy": "Name", "SortOrder": "Ascending"}, "abc"),
        ({"SortBy": "Status", "SortOrder": "Ascending"}, "bac"),
        ({"NameContains": "text"}, "a"),
        ({"StatusEquals": "Failed"}, "b"),
        ({"MaxResults": 2}, "bc"),
    ],
)
def test_lists_are_sorted_and_filtered(request_: dict[str, Any], expected: str) -> None:
    assert listed(**request_) == expected


@pytest.mark.parametrize("order", ["Ascending", "Descending"])
def test_pagination_returns_all_records_in_order(order: str) -> None:
    request: dict[str, Any] = {"SortBy": "Status", "SortOrder": order, "MaxResults": 1}
    result = ""
    while True:
        answer = ENDPOINT.list([A, B, C], request)
        result += names(answer)
        if "NextToken" not in answer:
            break
        request["NextToken"] = answer["NextToken"]
    assert result == listed(SortBy="Status", SortOrder=order)


def test_next_page_is_stable_despite_changes() -> None:
    # C, the newest of the first page, is deleted before the second; B, which is newer, is created.
    token = ENDPOINT.list([A, C], {"MaxResults": 1})["NextToken"]
    assert names(ENDPOINT.list([A, B], {"NextToken": token})) == "a"


def encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "token",
    ["", "x", "é", "W" * 8000, encoded("5"), encoded("[1]"), encoded("[" * 4000)],
    ids=["empty", "no Base64", "no ASCII", "no UTF-8", "number", "short list", "deep list"],
)
def test_invalid_token_is_refused(token: str) -> None:
    with pytest.raises(ApiError, match="Invalid NextToken") as exc_info:
        listed(NextToken=token)
    assert exc_info.value.code == "ValidationException"
