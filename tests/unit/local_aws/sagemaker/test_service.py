import asyncio
import json
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest

from local_aws.errors import ApiError
from local_aws.hosting.multi_model_container import model_error
from local_aws.hosting.triton import Response
from local_aws.sagemaker.hosting_api import Hosting
from local_aws.sagemaker.service import MAX_BODY_BYTES, SageMaker
from tests.unit.local_aws.conftest import ClientFor, eventually
from tests.unit.local_aws.sagemaker.conftest import CONTAINER, VARIANT, Fleets, config, model

PATH = "/endpoints/text/invocations"


class Answering:
    """A fleet that answers, or refuses, and keeps what it was asked."""

    def __init__(self, response: Response | ApiError) -> None:
        self.response = response
        self.asked: list[dict[str, Any]] = []

    def invoke(self, weights: dict[str, float], **request: Any) -> tuple[str, Response]:
        self.asked.append({"weights": weights, **request})
        if isinstance(self.response, ApiError):
            raise self.response
        return "only", self.response


def answer_with(
    hosting: Hosting, monkeypatch: pytest.MonkeyPatch, response: Response | ApiError
) -> Answering:
    """Let the endpoint `text` answer so."""
    fleet = Answering(response)
    found = {"text": (fleet, {"only": 1.0})}
    monkeypatch.setattr(hosting, "serving", lambda name: nullcontext(found[name]))
    return fleet


def test_an_invocation_passes_body_type_and_target_to_the_endpoint(
    hosting: Hosting, sagemaker: SageMaker, monkeypatch: pytest.MonkeyPatch, client_for: ClientFor
) -> None:
    content_type = "application/vnd.sagemaker-triton.binary+json;json-header-size=9"
    response = Response(200, {"Content-Type": content_type, "Server": "triton"}, b"\x00\xff")
    fleet = answer_with(hosting, monkeypatch, response)
    answer = client_for("sagemaker-runtime", sagemaker.__call__).invoke_endpoint(
        EndpointName="text",
        TargetModel="m-1.tar.gz",
        TargetVariant="only",
        ContentType="application/json",
        Body=b"\xfe",
    )
    assert answer["Body"].read() == b"\x00\xff"
    assert answer["ContentType"] == content_type
    assert answer["InvokedProductionVariant"] == "only"
    assert fleet.asked == [
        {
            "weights": {"only": 1.0},
            "target_model": "m-1.tar.gz",
            "target_variant": "only",
            "body": b"\xfe",
            "headers": {"Content-Type": "application/json"},
        }
    ]


def test_an_invocation_without_type_or_target_says_so_to_the_endpoint(
    hosting: Hosting, sagemaker: SageMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = answer_with(hosting, monkeypatch, Response(200, {}, b"ok"))
    status, headers, body = asyncio.run(sagemaker("POST", PATH, {}, b"", {}))
    assert (status, body) == (200, b"ok")
    assert headers == {"x-Amzn-Invoked-Production-Variant": "only"}
    (asked,) = fleet.asked
    assert (asked["target_model"], asked["target_variant"]) == (None, None)
    assert asked["headers"] == {"Content-Type": "application/octet-stream"}


def test_a_containers_refusal_reaches_the_caller_with_its_status_and_message(
    hosting: Hosting, sagemaker: SageMaker, monkeypatch: pytest.MonkeyPatch, client_for: ClientFor
) -> None:
    answer_with(hosting, monkeypatch, model_error(Response(400, {}, b'{"error":"no input X"}')))
    client = client_for("sagemaker-runtime", sagemaker.__call__)
    with pytest.raises(client.exceptions.ModelError) as refused:
        client.invoke_endpoint(EndpointName="text", Body=b"{}")
    assert refused.value.response["OriginalStatusCode"] == 400
    assert refused.value.response["OriginalMessage"] == '{"error":"no input X"}'
    assert refused.value.response["Error"]["Message"] == (
        'Received client error (400) from primary with message "{"error":"no input X"}"'
    )


def test_an_invocation_of_an_unknown_endpoint_names_it(
    sagemaker: SageMaker, client_for: ClientFor
) -> None:
    client = client_for("sagemaker-runtime", sagemaker.__call__)
    with pytest.raises(client.exceptions.ClientError) as refused:
        client.invoke_endpoint(EndpointName="none", Body=b"{}")
    assert refused.value.response["Error"] == {
        "Code": "ValidationError",
        "Message": "Endpoint none of account 000000000000 not found.",
    }


@pytest.mark.parametrize(("size", "expected"), [(MAX_BODY_BYTES, 200), (MAX_BODY_BYTES + 1, 413)])
def test_a_body_has_at_most_6_mib(
    hosting: Hosting,
    sagemaker: SageMaker,
    monkeypatch: pytest.MonkeyPatch,
    size: int,
    expected: int,
) -> None:
    fleet = answer_with(hosting, monkeypatch, Response(200, {}, b"ok"))
    status, _, body = asyncio.run(sagemaker("POST", PATH, {}, bytes(size), {}))
    assert status == expected
    assert len(fleet.asked) == (1 if expected == 200 else 0)
    if expected == 413:
        assert json.loads(body)["message"] == (
            "The body has 6291457 bytes; at most 6291456 are allowed."
        )


def test_an_sdk_takes_an_endpoint_from_its_model_to_its_deletion(
    fleets: Fleets, sagemaker: SageMaker, client_for: ClientFor
) -> None:
    client = client_for("sagemaker", sagemaker.__call__)
    client.create_model(ModelName="minilm", PrimaryContainer=CONTAINER)
    variant = {**VARIANT, "ModelName": "minilm"}
    client.create_endpoint_config(EndpointConfigName="three", ProductionVariants=[variant])
    client.create_endpoint(EndpointName="text", EndpointConfigName="three")
    eventually(
        lambda: client.describe_endpoint(EndpointName="text")["EndpointStatus"] == "InService"
    )
    wanted = [{"VariantName": "only", "DesiredInstanceCount": 2}]
    client.update_endpoint_weights_and_capacities(
        EndpointName="text", DesiredWeightsAndCapacities=wanted
    )
    eventually(
        lambda: client.describe_endpoint(EndpointName="text")["EndpointStatus"] == "InService"
    )
    (described,) = client.describe_endpoint(EndpointName="text")["ProductionVariants"]
    assert described["CurrentInstanceCount"] == 2
    assert [it["EndpointName"] for it in client.list_endpoints()["Endpoints"]] == ["text"]
    assert [it["ModelName"] for it in client.list_models()["Models"]] == ["minilm", "m"]
    client.delete_endpoint_config(EndpointConfigName="three")  # in the order of SDK v2
    client.delete_endpoint(EndpointName="text")
    client.delete_model(ModelName="minilm")
    eventually(lambda: client.list_endpoints()["Endpoints"] == [])
    assert fleets.started[0].events == ["scaling to 2", "draining", "stopped"]
    with pytest.raises(client.exceptions.ClientError, match="Could not find endpoint"):
        client.describe_endpoint(EndpointName="text")


RESOURCE = {"ResourceArn": "arn:aws:sagemaker:us-east-1:000000000000:model/m"}
LISTED = {"MaxResults": 1, "NextToken": "x", "NameContains": "m", "CreationTimeAfter": 1}
TEXT = {"EndpointName": "text"}
GOOD: dict[str, dict[str, Any]] = {
    "AddTags": {**RESOURCE, "Tags": [{"Key": "a", "Value": "b"}]},
    "CreateEndpoint": {**TEXT, "EndpointConfigName": "none"},
    "CreateEndpointConfig": config("n", InitialVariantWeight=1.0),
    "CreateModel": {**model("n", Environment={"A": "b"}), "Containers": [CONTAINER]},
    "DeleteEndpoint": TEXT,
    "DeleteEndpointConfig": {"EndpointConfigName": "one"},
    "DeleteModel": {"ModelName": "m"},
    "DeleteTags": {**RESOURCE, "TagKeys": ["a"]},
    "DescribeEndpoint": TEXT,
    "DescribeEndpointConfig": {"EndpointConfigName": "one"},
    "DescribeModel": {"ModelName": "m"},
    "ListEndpointConfigs": {**LISTED, "SortBy": "Name", "SortOrder": "Ascending"},
    "ListEndpoints": {**LISTED, "StatusEquals": "Failed", "LastModifiedTimeBefore": 1},
    "ListModels": LISTED,
    "ListTags": {**RESOURCE, "MaxResults": 50},
    "UpdateEndpoint": {
        **TEXT,
        "EndpointConfigName": "two",
        "ExcludeRetainedVariantProperties": [{"VariantPropertyType": "DesiredWeight"}],
    },
    "UpdateEndpointWeightsAndCapacities": {
        **TEXT,
        "DesiredWeightsAndCapacities": [{"VariantName": "only", "DesiredWeight": 1.0}],
    },
}
ABSENT = object()
BAD: tuple[Any, ...] = (
    ABSENT, None, True, -1, 2**62, 1e300, "", "../x", "m" * 5000, [], [[]], {}, {"x": 1}, [None],
)  # fmt: skip


def spoilt(value: Any) -> Iterator[Any]:
    """Yield the value with each of its parts, or all of it, replaced by something bad."""
    parts = list(value.items() if isinstance(value, dict) else enumerate(value))
    for key, part in parts:
        worse = [*BAD, *(spoilt(part) if isinstance(part, dict | list) else ())]
        for bad in worse:
            changed = {**dict(parts), key: bad}
            kept = {name: it for name, it in changed.items() if it is not ABSENT}
            yield kept if isinstance(value, dict) else list(kept.values())


@pytest.mark.parametrize("operation", GOOD)
def test_a_bad_request_is_answered_or_refused_and_is_no_error_of_ours(
    hosting: Hosting, sagemaker: SageMaker, operation: str
) -> None:
    hosting.create_endpoint({**TEXT, "EndpointConfigName": "one"})
    target = {"X-Amz-Target": f"SageMaker.{operation}"}
    for request in spoilt(GOOD[operation]):
        body = json.dumps(request).encode()
        status, _, _ = asyncio.run(sagemaker("POST", "/", target, body, {}))
        assert status in (200, 400), request
        for kept in (hosting._models, hosting._configs):
            kept.pop("n", None)  # so that the next is not refused because it is there


def test_every_operation_is_asked_for_something_bad(sagemaker: SageMaker) -> None:
    assert sorted(sagemaker.control_plane._operations) == sorted(GOOD)
