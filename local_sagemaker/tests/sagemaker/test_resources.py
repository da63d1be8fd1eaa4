from typing import Any

import pytest

from local_sagemaker.api import JsonService
from local_sagemaker.errors import ApiError
from local_sagemaker.sagemaker.hosting_api import Hosting
from local_sagemaker.sagemaker.resources import ENDPOINT, MODEL
from local_sagemaker.tests.conftest import ClientFor
from local_sagemaker.tests.sagemaker.conftest import model

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
    return "".join(it["EndpointName"][0] for it in answer["Endpoints"])


def listed(**request: Any) -> str:
    return names(ENDPOINT.list([A, B, C], request))


def test_a_summary_has_what_the_api_says() -> None:
    (only,) = ENDPOINT.list([A], {})["Endpoints"]
    assert only == {name: it for name, it in A.items() if name != "EndpointConfigName"}
    (only,) = MODEL.list([{"ModelName": "m", "ModelArn": "arn", "CreationTime": 1.0, "x": 1}], {})[
        "Models"
    ]
    assert only == {"ModelName": "m", "ModelArn": "arn", "CreationTime": 1.0}


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({}, "bca"),
        ({"SortOrder": "Descending"}, "bca"),
        ({"SortOrder": "Ascending"}, "acb"),
        ({"SortBy": "CreationTime"}, "bca"),
        ({"SortBy": "Name"}, "cba"),
        ({"SortBy": "Name", "SortOrder": "Ascending"}, "abc"),
        ({"SortBy": "Status", "SortOrder": "Ascending"}, "bac"),
        ({"NameContains": "text"}, "a"),
        ({"NameContains": "-"}, "ba"),
        ({"StatusEquals": "Failed"}, "b"),
        ({"StatusEquals": "Creating"}, ""),
        ({"CreationTimeAfter": 20}, "bc"),
        ({"CreationTimeBefore": 20}, "a"),
        ({"CreationTimeAfter": "1970-01-01T00:00:21Z"}, "b"),
        ({"LastModifiedTimeAfter": 40}, "ba"),
        ({"LastModifiedTimeBefore": 50}, "c"),
        ({"CreationTimeAfter": 20, "StatusEquals": "InService"}, "c"),
        ({"MaxResults": 2}, "bc"),
    ],
)
def test_lists_are_ordered_and_filtered_as_the_api_says(
    request_: dict[str, Any], expected: str
) -> None:
    assert listed(**request_) == expected


@pytest.mark.parametrize("order", ["Ascending", "Descending"])
@pytest.mark.parametrize("by", ["CreationTime", "Name", "Status"])
def test_pages_follow_each_other(order: str, by: str) -> None:
    request: dict[str, Any] = {"SortBy": by, "SortOrder": order, "MaxResults": 1}
    found = ""
    while True:
        answer = ENDPOINT.list([A, B, C], request)
        found += names(answer)
        if "NextToken" not in answer:
            break
        request["NextToken"] = answer["NextToken"]
    assert found == listed(SortBy=by, SortOrder=order)


def test_a_page_goes_on_after_its_last_record_whatever_is_created_and_deleted() -> None:
    token = ENDPOINT.list([A, C], {"MaxResults": 1})["NextToken"]
    assert names(ENDPOINT.list([A, B], {"NextToken": token})) == "a"


def test_a_page_has_ten_where_nothing_is_asked() -> None:
    many = [{**A, "EndpointName": f"{number:02}", "CreationTime": number} for number in range(11)]
    first = ENDPOINT.list(many, {})
    assert len(first["Endpoints"]) == 10
    (last,) = ENDPOINT.list(many, {"NextToken": first["NextToken"]})["Endpoints"]
    assert last["EndpointName"] == "00"
    assert "NextToken" not in ENDPOINT.list(many[:10], {})


@pytest.mark.parametrize("token", ["", "x", "é", "WzFd", "W" * 8000, "NQ==", "W1s" * 2000])
def test_a_token_that_is_none_is_refused(token: str) -> None:
    with pytest.raises(ApiError, match="Invalid NextToken") as refused:
        listed(NextToken=token)
    assert refused.value.code == "ValidationException"


def test_a_token_of_another_order_is_refused() -> None:
    token = ENDPOINT.list([A, B, C], {"MaxResults": 1, "SortBy": "Name"})["NextToken"]
    with pytest.raises(ApiError, match="Invalid NextToken"):
        listed(NextToken=token)


def test_an_sdk_pages_through_each_list(
    hosting: Hosting, sagemaker: JsonService, client_for: ClientFor
) -> None:
    client = client_for("sagemaker", sagemaker)
    for number in range(3):
        hosting.create_model(model(f"m{number}"))
    pages = client.get_paginator("list_models").paginate(PaginationConfig={"PageSize": 2})
    assert [[it["ModelName"] for it in page["Models"]] for page in pages] == [
        ["m2", "m1"],
        ["m0", "m"],
    ]
    configs = client.list_endpoint_configs(SortBy="Name", SortOrder="Ascending", MaxResults=1)
    assert [it["EndpointConfigName"] for it in configs["EndpointConfigs"]] == ["one"]
