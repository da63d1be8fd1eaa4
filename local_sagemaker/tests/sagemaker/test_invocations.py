import asyncio
import http.client
import itertools
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from unittest.mock import AsyncMock

import botocore.session
import pytest
from botocore.exceptions import EventStreamError

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.invocation import (
    MAX_BODY_BYTES,
    ClientDisconnectedError,
    Invocation,
    model_error,
)
from local_sagemaker.hosting.pools import Pool
from local_sagemaker.metrics.metric_buffer import MetricBuffer
from local_sagemaker.sagemaker.component_operations import HostingOperations
from local_sagemaker.sagemaker.invocations import OPERATIONS, Invocations
from local_sagemaker.tests.conftest import ClientFor, served
from local_sagemaker.tests.sagemaker.conftest import FakeInstance, Fleets
from local_sagemaker.tests.sagemaker.test_component_operations import (
    REQUEST,
    TIMES,
    create_components_endpoint,
    wait_for_component,
)

TEXT = "/endpoints/Text/invocations"
NO_CAPTURE_WRITER: Any = None


@pytest.fixture
def metric_buffer() -> MetricBuffer:
    """The metric_buffer metrics; each invocation is in its own finished period."""
    return MetricBuffer(speed=1, clock=itertools.count(0, 60).__next__)


@pytest.fixture
def endpoint(
    serving: HostingOperations, fleets: Fleets, metric_buffer: MetricBuffer
) -> Iterator[Invocations]:
    """InvokeEndpoint of the endpoint `Text`; after the test, no invocation may be in progress."""
    yield Invocations(
        serving.endpoints_by_name, NO_CAPTURE_WRITER, metric_buffer, components=serving.components
    )
    assert fleets.started[0].busy == 0


def fail_invocations(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Let each invocation raise `error`."""
    monkeypatch.setattr(FakeInstance, "answer", AsyncMock(side_effect=error))


def test_invocations_are_reported_with_duration_and_result(
    hosting: HostingOperations,
    endpoint: Invocations,
    metric_buffer: MetricBuffer,
    client_for: ClientFor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    messages: list[Any] = []
    observed = Invocations(
        hosting.endpoints_by_name,
        NO_CAPTURE_WRITER,
        metric_buffer,
        lambda *call: messages.append(call),
        components=hosting.components,
    )
    client = client_for("sagemaker-runtime", observed)
    client.invoke_endpoint(EndpointName="Text", Body=b"{}")
    fail_invocations(monkeypatch, model_error(400, b"no"))
    for _ in range(2):
        with pytest.raises(client.exceptions.ModelError) as failed:
            client.invoke_endpoint(EndpointName="Text", Body=b"{}")
        assert failed.value.response["OriginalMessage"] == "no"
        assert failed.value.response["LogStreamArn"] == (
            "arn:aws:logs:us-east-1:000000000000:log-group:/aws/sagemaker/Endpoints/Text"
        )
        assert failed.value.response["Error"]["Message"] == (
            'Received client error (400) from primary with message "no". See '
            "https://us-east-1.console.aws.amazon.com/cloudwatch/home?region=us-east-1"
            "#logEventViewer:group=/aws/sagemaker/Endpoints/Text in account 000000000000 for more "
            "information."
        )
    with pytest.raises(client.exceptions.ClientError):
        client.invoke_endpoint(EndpointName="none", Body=b"{}")
    assert [(endpoint_, variant, failed) for endpoint_, variant, _, failed in messages] == [
        ("Text", "only", False),
        ("Text", "only", True),
        ("Text", "only", True),
    ]
    assert all(seconds > 0 for _, _, seconds, _ in messages)


@pytest.mark.parametrize(
    ("status", "code"), [(404, "CLIENT_ERROR_FROM_MODEL"), (502, "INTERNAL_FAILURE_FROM_MODEL")]
)
async def test_error_code_says_which_kind_of_error_the_model_has(
    endpoint: Invocations, monkeypatch: pytest.MonkeyPatch, status: int, code: str
) -> None:
    fail_invocations(monkeypatch, model_error(status, b"no"))
    async with served(endpoint) as port:
        _, answer = await asyncio.to_thread(request, port, b"{}", {})
    assert json.loads(answer)["ErrorCode"] == code  # botocore's model has no such member


def test_targets_reach_the_fleet(
    endpoint: Invocations, client_for: ClientFor, fleets: Fleets, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[dict[str, Any]] = []
    choose = fleets.started[0].choose

    def record_choice(weights: dict[str, float], **targets: Any) -> FakeInstance | None:
        requests.append({"weights": weights, **targets})
        return choose(weights)

    monkeypatch.setattr(fleets.started[0], "choose", record_choice)
    client = client_for("sagemaker-runtime", endpoint)
    client.invoke_endpoint(
        EndpointName="Text", Body=b"", TargetModel="m-1.tar.gz", TargetVariant="only"
    )
    client.invoke_endpoint(EndpointName="Text", Body=b"")
    weights = {"only": 1.0}
    assert requests == [
        {"weights": weights, "target_model": "m-1.tar.gz", "target_variant": "only"},
        {"weights": weights, "target_model": None, "target_variant": None},
    ]


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("EnableExplanations", "`true`"),
        ("PrefixAwareId", "user-1"),
        ("SessionId", "NEW_SESSION"),
        ("TargetContainerHostname", "second"),
    ],
)
def test_unsupported_member_is_refused(
    endpoint: Invocations, client_for: ClientFor, member: str, value: str
) -> None:
    client = client_for("sagemaker-runtime", endpoint)
    with pytest.raises(client.exceptions.ValidationError) as exc_info:
        client.invoke_endpoint(EndpointName="Text", Body=b"{}", **{member: value})
    assert exc_info.value.response["Error"]["Message"] == (
        f"The local SageMaker does not support {member}: leave it out."
    )


def request(port: int, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
    with closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
        connection.request("POST", TEXT, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


@pytest.mark.parametrize("size", [MAX_BODY_BYTES, 4 * MAX_BODY_BYTES])
async def test_client_that_sends_the_whole_body_receives_the_error(
    endpoint: Invocations, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    fail_invocations(monkeypatch, ApiError("ModelError", "no", status=424))
    async with served(endpoint) as port:
        headers = {"Connection": "close"}
        status, answer = await asyncio.to_thread(request, port, bytes(size), headers)
    assert status == (413 if size > MAX_BODY_BYTES else 424)
    assert b"message" in answer.lower()


@pytest.mark.parametrize(
    "error", [ClientDisconnectedError(), ApiError("ModelError", "no", status=424)]
)
async def test_failed_invocation_is_counted_as_ended(
    endpoint: Invocations, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    fail_invocations(monkeypatch, error)
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request"}

    async def send(message: Any) -> None:
        sent.append(message)

    await endpoint({"path": TEXT, "headers": []}, receive, send)
    assert [message.get("status") for message in sent] == (
        [424, None] if isinstance(error, ApiError) else []
    )


def test_unsupported_operation_is_refused(endpoint: Invocations, client_for: ClientFor) -> None:
    model: Any = botocore.session.get_session().get_service_model("sagemaker-runtime")
    paths = {name: model.operation_model(name).http["requestUri"] for name in model.operation_names}
    assert {name: f"/endpoints/{{EndpointName}}/{end}" for end, name in OPERATIONS.items()} == paths
    client = client_for("sagemaker-runtime", endpoint)
    with pytest.raises(client.exceptions.ClientError) as exc_info:
        client.invoke_endpoint_async(EndpointName="Text", InputLocation="s3://b/k")
    assert exc_info.value.response["Error"] == {
        "Code": "UnknownOperationException",
        "Message": "the local SageMaker has no InvokeEndpointAsync: it is not emulated",
    }


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (model_error(0, b"too late"), "ModelInvocationTimeExceeded"),
        (ApiError("ModelError", "gone", status=424), "StreamBroken"),
    ],
)
def test_broken_stream_ends_with_an_error_event(
    endpoint: Invocations,
    client_for: ClientFor,
    monkeypatch: pytest.MonkeyPatch,
    error: ApiError,
    code: str,
) -> None:
    async def invoke(_: object, invocation: Invocation) -> None:
        await invocation.start_response([])
        await invocation.send_chunk(b"one", more=True)
        raise error

    monkeypatch.setattr(FakeInstance, "answer", invoke)
    client = client_for("sagemaker-runtime", endpoint)
    answer = client.invoke_endpoint_with_response_stream(EndpointName="Text", Body=b"{}")
    parts = iter(answer["Body"])
    assert next(parts)["PayloadPart"]["Bytes"] == b"one"
    with closing(answer["Body"]), pytest.raises(EventStreamError) as exc_info:
        next(parts)
    assert exc_info.value.response["Error"] == {
        "Code": "ModelStreamError",
        "Message": f"{code}: {error.message}",
    }


# Metrics


def totals(metric_buffer: MetricBuffer) -> dict[tuple[str, str | None], float]:
    """Return the sums of the metrics, by name and configuration or instance type."""
    result: dict[tuple[str, str | None], float] = {}
    for series in metric_buffer.take():
        assert (series.dimensions.endpoint, series.dimensions.variant) == ("Text", "only")
        key = (series.metric.name, series.dimensions.config or series.dimensions.instance_type)
        result[key] = result.get(key, 0) + sum(value * n for value, n in series.values.items())
    return result


def test_metrics_of_variant_and_configuration(
    endpoint: Invocations, client_for: ClientFor, fleets: Fleets, metric_buffer: MetricBuffer
) -> None:
    fleets.started[0].counts = {"only": 4}
    client = client_for("sagemaker-runtime", endpoint)
    for _ in range(2):
        client.invoke_endpoint(EndpointName="Text", Body=b"{}")
    result = totals(metric_buffer)
    for config in (None, "one"):
        assert result["Invocations", config] == 2
        assert result["InvocationsPerInstance", config] == 0.5
        assert result["InvocationModelErrors", config] == 0


def test_metrics_of_a_pool_have_the_instance_type(
    endpoint: Invocations,
    client_for: ClientFor,
    fleets: Fleets,
    metric_buffer: MetricBuffer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(FakeInstance, "pool", Pool("ml.g6.xlarge", "model"))
    fleets.started[0].counts = {"only": 4}
    client_for("sagemaker-runtime", endpoint).invoke_endpoint(EndpointName="Text", Body=b"{}")
    sums = totals(metric_buffer)
    assert (sums["Invocations", "ml.g6.xlarge"], sums["Invocations", None]) == (1, 1)
    assert sums["InvocationsPerInstance", "ml.g6.xlarge"] == 1


# Inference components


@pytest.fixture
def components(hosting: HostingOperations, metric_buffer: MetricBuffer) -> Invocations:
    """InvokeEndpoint of the endpoint `Empty`, which hosts the component `times`."""
    create_components_endpoint(hosting, "Empty")
    hosting.create_inference_component(REQUEST)
    wait_for_component(hosting)
    return Invocations(
        hosting.endpoints_by_name, NO_CAPTURE_WRITER, metric_buffer, components=hosting.components
    )


def component_error(client: Any, code: str = "ValidationError", **names: str) -> str:
    with pytest.raises(client.exceptions.ClientError) as exc_info:
        client.invoke_endpoint(**{"EndpointName": "Empty", "Body": b"{}", **names})
    assert exc_info.value.response["Error"]["Code"] == code
    assert exc_info.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    return str(exc_info.value.response["Error"]["Message"])


def test_component_is_invoked_and_has_its_own_metrics(
    components: Invocations,
    hosting: HostingOperations,
    metric_buffer: MetricBuffer,
    client_for: ClientFor,
) -> None:
    hosting.update_inference_component_runtime_config(
        {**TIMES, "DesiredRuntimeConfig": {"CopyCount": 2}}
    )
    wait_for_component(hosting)
    answer = client_for("sagemaker-runtime", components).invoke_endpoint(
        EndpointName="Empty", InferenceComponentName="times", Body=b"{}"
    )
    assert answer["Body"].read() == b"times"
    assert answer["InvokedProductionVariant"] == "only"
    taken = metric_buffer.take()
    dimensions = [{"Name": "InferenceComponentName", "Value": "times"}]
    assert all(series.dimensions.to_aws() == dimensions for series in taken)
    values = {series.metric.name: dict(series.values) for series in taken}
    assert (values["Invocations"], values["InvocationsPerCopy"]) == ({1: 1}, {0.5: 1})
    assert "InvocationsPerInstance" not in values


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            {},
            "Inference Component Name header is required for endpoints to which you plan to deploy "
            "inference components. Please include Inference Component Name header or consider "
            "using SageMaker models.",
        ),
        (
            {"EndpointName": "Text", "InferenceComponentName": "times"},
            "Inference Component Name header is not allowed for endpoints to which you dont plan "
            "to deploy inference components. Please remove the Inference Component Name header "
            "and try again.",
        ),
        (
            {"InferenceComponentName": "other"},
            'Could not find inference component "arn:aws:sagemaker:us-east-1:000000000000:'
            'inference-component/other".',
        ),
        ({"EndpointName": "none", "InferenceComponentName": "times"}, "Endpoint none of account "),
    ],
)
def test_invalid_component_name_is_refused(
    components: Invocations,
    hosting: HostingOperations,
    client_for: ClientFor,
    names: dict[str, str],
    message: str,
) -> None:
    hosting.create_endpoint({"EndpointName": "Text", "EndpointConfigName": "one"})
    assert component_error(client_for("sagemaker-runtime", components), **names).startswith(message)


def test_missing_component_name_has_an_error_code(components: Invocations) -> None:
    with pytest.raises(ApiError) as refused:
        components._find_component(components._endpoints["Empty"], None)
    assert refused.value.fields == {"ErrorCode": "INFERENCE_COMPONENT_NAME_MISSING"}
