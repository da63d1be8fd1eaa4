"""Invocations, retries, batches and connections of both clients."""

import asyncio
import re
import socket
import threading
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from endpoint_client import (
    AsyncEndpointClient,
    EndpointClient,
    EndpointError,
    InvalidInput,
    ModelCall,
    ModelFailed,
    ModelNotReady,
    NoCapacity,
    NoCopies,
    NoResponse,
    NotSent,
    PartlyFailed,
    Throttled,
)
from endpoint_client._payload import MAX_BODY_BYTES
from endpoint_client._retries import MAX_PAUSE, RETRY_BUDGET, RETRY_COST, Deadline
from tests.unit.endpoint_client.conftest import (
    CLIENT_OPTIONS,
    PREFIX,
    TEXT_INPUT,
    Blocker,
    ClientFactory,
    Response,
    echo,
    entry_text,
    throttling_error,
)

SQUARE = {
    "inputs": [{"name": "X", "datatype": "FP32", "shape": [-1, 2]}],
    "outputs": [{"name": "Y", "datatype": "FP32", "shape": [-1, 2]}],
    "max_batch_size": 4,
}


def not_ready_error() -> Response:
    return Response.error("ModelNotReadyException", "still loading", 429)


UNKNOWN_MODEL = """{"error":"Request for unknown model: 'minilm.tar.gz' is not found"}"""
"""Body of a response of Triton 2.51 with the status 400."""
NO_COPIES_MESSAGE = (
    "Inference Component has no capacity to process this request. ApplicationAutoScaling may be "
    "in-progress (if configured) or try to increase the capacity by invoking "
    "UpdateInferenceComponentRuntimeConfig API."
)
"""Source: AWS machine learning blog, "Unlock cost savings with the new scale down to zero feature
in SageMaker Inference"."""


def no_copies_error() -> Response:
    return Response.error("ValidationError", NO_COPIES_MESSAGE)


def model_error(status: int, original_message: str) -> Response:
    message = f'Received error ({status}) from primary with message "..."'
    return Response.error(
        "ModelError", message, 424, OriginalStatusCode=status, OriginalMessage=original_message
    )


@pytest.mark.parametrize(
    ("entry", "options", "headers"),
    [
        ({}, {}, {"target-model": "minilm-0123456789ab.tar.gz"}),
        ({}, {"variant": "Canary"},
         {"target-model": "minilm-0123456789ab.tar.gz", "target-variant": "Canary"}),
        ({"target_model": None}, {}, {}),
        ({"target_model": None, "inference_component": "prod-text-minilm"}, {},
         {"inference-component": "prod-text-minilm"}),
    ],
    ids=["multi-model", "variant", "single-model", "inference component"],
)  # fmt: skip
def test_request_has_target_headers(
    client: EndpointClient,
    aws: Any,
    entry: dict[str, Any],
    options: dict[str, Any],
    headers: dict[str, str],
) -> None:
    aws.entries[f"{PREFIX}minilm"] = entry_text(**entry)
    outputs = client.invoke("minilm", {"TEXT": ["one", "two"]}, **options)
    assert outputs["EMBEDDING"].tolist() == [[b"one"], [b"two"]]
    ((path, sent_headers, _),) = aws.requests
    assert path == "/endpoints/prod-text/invocations"
    start = "x-amzn-sagemaker-"
    assert {
        name.removeprefix(start): value
        for name, value in sent_headers.items()
        if name.startswith(start)
    } == headers


@pytest.mark.parametrize(
    ("inputs", "options", "message"),
    [
        ({}, {}, "input 'TEXT' is missing$"),
        (TEXT_INPUT, {"outputs": ["SCORE"]}, "no output 'SCORE': write one of EMBEDDING$"),
        ({"TEXT": [b"x" * MAX_BODY_BYTES]}, {}, "the request has 62.* send fewer rows, or use .*"),
        (TEXT_INPUT, {"parameters": {"sequence_id": np.int64(7)}}, ".*int64"),
        (TEXT_INPUT, {"variant": 7}, "(.|\n)*TargetVariant"),
        (TEXT_INPUT, {"variant": "a\nb"}, ".*header value"),
    ],
    ids=["input", "output", "size", "parameter type", "variant type", "line break"],
)
def test_invalid_request_is_not_sent(
    client: EndpointClient, aws: Any, pauses: list[float], inputs: Any, options: Any, message: str
) -> None:
    with pytest.raises(InvalidInput, match=f"^minilm 0123456789ab: {message}") as raised:
        client.invoke("minilm", inputs, **options)
    assert not raised.value.retry_safe
    assert (aws.requests, pauses) == ([], [])


# Failures


def test_invocation_of_a_loading_model_is_retried_with_backoff(
    client: EndpointClient, aws: Any, pauses: list[float]
) -> None:
    aws.responses = [not_ready_error() for _ in range(4)]
    assert client.invoke("minilm", TEXT_INPUT)["EMBEDDING"].tolist() == [[b"one"]]
    bounds = [(0.5, 1), (1, 2), (2, 4), (4, 8)]
    assert all(low <= pause <= high for pause, (low, high) in zip(pauses, bounds, strict=True))
    assert len({body for _, _, body in aws.requests}) == 1


@pytest.mark.parametrize("attempts", [1, 3])
def test_number_of_attempts_is_limited(
    new_client: ClientFactory, aws: Any, pauses: list[float], attempts: int
) -> None:
    client = new_client(max_attempts=attempts)
    aws.responses = [not_ready_error() for _ in range(10)]
    with pytest.raises(ModelNotReady, match=r"^minilm 0123456789ab: still loading$") as raised:
        client.invoke("minilm", TEXT_INPUT)
    assert (raised.value.status, raised.value.retry_safe) == (429, True)
    assert len(aws.requests) == attempts
    assert len(pauses) == attempts - 1  # no pause after the last attempt


@pytest.mark.parametrize(
    ("response", "kind", "status", "message"),
    [
        (throttling_error, Throttled, 400, "Rate exceeded"),
        (lambda: Response.error("ServiceUnavailable", "none", 503), NoCapacity, 503, "none"),
        (lambda: model_error(503, "Exceeds maximum queue size"), NoCapacity, 503, "Exceeds .*"),
        (not_ready_error, ModelNotReady, 429, "still loading"),
        (lambda: model_error(400, UNKNOWN_MODEL), ModelNotReady, 400, re.escape(UNKNOWN_MODEL)),
    ],
)
def test_retry_safe_errors_are_retried(
    client: EndpointClient,
    aws: Any,
    response: Callable[[], Response],
    kind: type[EndpointError],
    status: int,
    message: str,
) -> None:
    aws.responses = [response() for _ in range(4)]
    assert client.invoke("minilm", TEXT_INPUT)["EMBEDDING"].tolist() == [[b"one"]]
    assert len(aws.requests) == 5
    aws.responses = [response() for _ in range(5)]
    with pytest.raises(EndpointError, match=f"^minilm 0123456789ab: {message}$") as raised:
        client.invoke("minilm", TEXT_INPUT)
    assert type(raised.value) is kind
    assert (raised.value.status, raised.value.request_id) == (status, "request-1")


@pytest.mark.parametrize(
    ("response", "kind", "status", "message"),
    [
        (model_error(400, "batch 40 > 32"), ModelFailed, 400, "batch 40 > 32"),
        (model_error(507, "no memory"), ModelFailed, 507, "no memory"),
        (Response.error("ModelError", "did not answer", 424), ModelFailed, None, "did not answer"),
        (model_error(0, "Your invocation timed out"), NoResponse, 0, "Your invocation timed out"),
        (Response.error("InternalFailure", "oh", 500), EndpointError, 500, "oh"),
        (Response.error("ValidationError", "Endpoint not found."), EndpointError, 400,
         "Endpoint .*"),
        (Response(413), EndpointError, 413, "413"),
    ],
)  # fmt: skip
def test_other_errors_are_not_retried(
    client: EndpointClient,
    aws: Any,
    response: Response,
    kind: type[EndpointError],
    status: int | None,
    message: str,
) -> None:
    aws.responses = [response]
    with pytest.raises(EndpointError, match=f"^minilm 0123456789ab: {message}") as raised:
        client.invoke("minilm", TEXT_INPUT)
    assert type(raised.value) is kind
    assert (raised.value.status, raised.value.retry_safe) == (status, False)
    assert len(aws.requests) == 1


@pytest.mark.parametrize("failure", ["truncated", "reset", "no body", "half a body"])
def test_incomplete_response_is_not_retried(client: EndpointClient, aws: Any, failure: str) -> None:
    client.resolve("minilm")
    released = threading.Event()

    def wait(number: int) -> None:
        if number == (failure == "half a body"):
            released.wait()

    if failure == "reset":
        aws.before_invoke = Mock(side_effect=ConnectionResetError)
    elif failure == "truncated":
        aws.responses = [Response(200, b"{", truncated=True)]
    else:
        aws.responses = [Response(200, b"{", b"}", before_chunk=wait)]
    with pytest.raises(NoResponse, match=r"^minilm 0123456789ab: ") as raised:
        client.invoke("minilm", TEXT_INPUT, timeout=2 if "body" in failure else 60)
    released.set()
    assert not raised.value.retry_safe
    assert len(aws.requests) == 1


@pytest.mark.parametrize(
    "response",
    [
        Response(200, b"<html>", headers={"Content-Type": "text/html"}),
        Response(200, b"[]", headers={"Content-Type": "application/json"}),
        Response(200, b"text"),
    ],
    ids=["HTML", "JSON list", "no content type"],
)
def test_invalid_response_is_a_model_error(
    new_client: ClientFactory, aws: Any, response: Response
) -> None:
    calls: list[ModelCall] = []
    aws.responses = [response]
    with pytest.raises(ModelFailed, match="minilm 0123456789ab: invalid response from Triton"):
        new_client(metrics=calls.append).invoke("minilm", TEXT_INPUT)
    assert isinstance(calls[0].error, ModelFailed)


def test_refused_connection_means_not_sent(
    new_client: ClientFactory, aws: Any, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        new_aws_client, url = aws.client, f"http://127.0.0.1:{closed.getsockname()[1]}"

        def new_boto3_client(name: str, config: Any) -> Any:
            if name == "dynamodb":
                return new_aws_client(name, config)
            return aws.boto3_session.client(name, endpoint_url=url, config=config)

        monkeypatch.setattr(aws, "client", new_boto3_client)
        with pytest.raises(NotSent, match=r"^minilm 0123456789ab: ") as raised:
            new_client().invoke("minilm", TEXT_INPUT)
    assert raised.value.retry_safe
    assert len(pauses) == 4


def test_no_attempt_starts_after_the_timeout(
    client: EndpointClient, aws: Any, pauses: list[float], clock: Callable[[float], None]
) -> None:
    def slow(*_: object) -> Response:
        clock(4)
        return not_ready_error()

    aws.invoke = slow
    with pytest.raises(ModelNotReady):
        client.invoke("minilm", TEXT_INPUT, timeout=8)
    assert (len(aws.requests), len(pauses)) == (2, 1)
    with pytest.raises(NotSent, match=r"takes too long|timed out before it was sent"):
        client.invoke("minilm", TEXT_INPUT, timeout=0)


@pytest.mark.parametrize("response", [throttling_error, not_ready_error])
def test_retry_budget_limits_retries(
    client: EndpointClient, aws: Any, response: Callable[[], Response]
) -> None:
    aws.invoke = lambda *_: response()
    for _ in range(100):
        with pytest.raises((Throttled, ModelNotReady)):
            client.invoke("minilm", TEXT_INPUT)
    assert len(aws.requests) == 100 + RETRY_BUDGET // RETRY_COST
    aws.invoke = echo
    for _ in range(RETRY_COST):
        client.invoke("minilm", TEXT_INPUT)
    aws.responses = [throttling_error()]
    client.invoke("minilm", TEXT_INPUT)  # successful calls have refilled the budget


# Models that are not ready


@pytest.fixture
def elapsing_pauses(
    monkeypatch: pytest.MonkeyPatch, clock: Callable[[float], None], pauses: list[float]
) -> None:
    """Pauses between attempts that advance the clock."""

    def pause(_: Deadline, seconds: float) -> None:
        pauses.append(seconds)
        clock(seconds)

    monkeypatch.setattr(Deadline, "pause", pause)


def test_component_without_copy_is_not_retried(
    client: EndpointClient, aws: Any, pauses: list[float]
) -> None:
    aws.responses = [no_copies_error()]
    with pytest.raises(NoCapacity, match=r"^minilm \w+: Inference Component has no cap") as raised:
        client.invoke("minilm", TEXT_INPUT)
    assert type(raised.value) is NoCopies
    assert (raised.value.status, raised.value.retry_safe) == (400, True)
    assert (len(aws.requests), pauses) == (1, [])


@pytest.mark.usefixtures("elapsing_pauses")
@pytest.mark.parametrize("response", [no_copies_error, not_ready_error])
def test_wait_until_ready_retries_without_limit_of_attempts(
    new_client: ClientFactory, aws: Any, response: Callable[[], Response]
) -> None:
    client = new_client(wait_until_ready=600)
    aws.responses = [response() for _ in range(30)]
    assert client.invoke("minilm", TEXT_INPUT)["EMBEDDING"].tolist() == [[b"one"]]
    assert len(aws.requests) == 31
    # The wait has used neither attempts nor the retry budget.
    aws.responses = [throttling_error() for _ in range(4)]
    client.invoke("minilm", TEXT_INPUT)


@pytest.mark.usefixtures("elapsing_pauses")
def test_wait_until_ready_ends_after_its_time_or_the_timeout(
    new_client: ClientFactory, aws: Any, pauses: list[float]
) -> None:
    client = new_client(wait_until_ready=600)
    aws.invoke = lambda *_: no_copies_error()
    for timeout, seconds in ((None, 600), (100, 100)):
        pauses.clear()
        with pytest.raises(NoCopies):
            client.invoke("minilm", TEXT_INPUT, timeout=timeout)
        assert seconds - MAX_PAUSE <= sum(pauses) <= seconds
        assert max(pauses) <= MAX_PAUSE


# Many rows


def test_rows_are_split_by_batch_size_and_keep_their_order(
    client: EndpointClient, aws: Any
) -> None:
    aws.entries[f"{PREFIX}copy"] = entry_text("copy", signature=SQUARE)
    rows = np.arange(46, dtype=np.float32).reshape(23, 2)
    outputs = client.invoke_many("copy", {"X": rows})
    np.testing.assert_array_equal(outputs["Y"], rows)
    assert len(aws.requests) == 6
    outputs["Y"][0, 0] = 1  # the array is writable


def test_size_limit_of_requests_is_an_option(new_client: Any, aws: Any) -> None:
    client = new_client(max_body_bytes=1000)
    with pytest.raises(InvalidInput, match=r"the limit is 1000 \(max_body_bytes\)"):
        client.invoke("minilm", {"TEXT": [b"x" * 1000]})
    aws.invoke = lambda *_: Response(200, b"{}", headers={"Content-Type": "application/json"})
    client.invoke_many("minilm", {"TEXT": [b"x" * 400] * 4})
    assert len(aws.requests) == 4


def test_failed_batch_raises_partly_failed_with_other_outputs(
    client: EndpointClient, aws: Any
) -> None:
    def reject_poison(body: bytes, content_type: str) -> Response:
        return model_error(400, "bad") if b"poison" in body else echo(body, content_type)

    aws.invoke = reject_poison
    texts = [f"text {number}" for number in range(20)]
    texts[9] = "poison"
    with pytest.raises(PartlyFailed, match="8 of 20 rows failed, the first because of: ") as raised:
        client.invoke_many("minilm", {"TEXT": texts})
    error = raised.value
    assert list(error.failures) == list(range(8, 16))
    assert {type(failure) for failure in error.failures.values()} == {ModelFailed}
    assert error.rows == [*range(8), *range(16, 20)]
    assert error.outputs["EMBEDDING"].ravel().tolist() == [
        texts[row].encode() for row in error.rows
    ]


def test_oversized_row_does_not_fail_other_rows(client: EndpointClient, aws: Any) -> None:
    with pytest.raises(PartlyFailed) as raised:
        client.invoke_many("minilm", {"TEXT": [b"a", b"x" * MAX_BODY_BYTES, b"b"]})
    assert list(raised.value.failures) == [1]
    assert raised.value.outputs["EMBEDDING"].tolist() == [[b"a"], [b"b"]]


# Metrics


def test_metrics_gets_each_invocation_with_its_error(
    new_client: ClientFactory, aws: Any, clock: Callable[[float], None]
) -> None:
    calls: list[ModelCall] = []
    client = new_client(metrics=calls.append)

    def slow(body: bytes, content_type: str) -> Response:
        clock(3)
        return echo(body, content_type)

    aws.invoke = slow
    client.invoke("minilm", TEXT_INPUT)
    aws.responses = [model_error(400, "no")]
    with pytest.raises(ModelFailed) as raised:
        client.invoke("minilm", TEXT_INPUT)
    entry = client.resolve("minilm")
    assert calls == [ModelCall(entry, 3.0, None), ModelCall(entry, 0.0, raised.value)]


# Connections


def test_connection_is_reused(client: EndpointClient, aws: Any) -> None:
    for _ in range(5):
        client.invoke("minilm", TEXT_INPUT)
    aws.responses = [throttling_error(), model_error(400, "no")]
    with pytest.raises(ModelFailed):
        client.invoke("minilm", TEXT_INPUT)
    client.invoke("minilm", TEXT_INPUT)
    assert aws.connections == 1


@pytest.mark.parametrize("method", ["invoke", "invoke_many", "stream"])
def test_call_cancelled_in_a_pause_sends_no_further_request(
    aws: Any, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    pausing = threading.Event()
    entry = entry_text("only", target_model=None, inference_component="prod-text-only")
    aws.entries[f"{PREFIX}only"] = entry

    def pause(deadline: Deadline, _: float) -> None:
        assert not pausing.is_set()
        pausing.set()
        deadline._cancelled.wait()

    monkeypatch.setattr(Deadline, "pause", pause)
    aws.invoke = lambda *_: no_copies_error()

    async def run() -> None:
        sync_client = EndpointClient(**CLIENT_OPTIONS, session=aws, wait_until_ready=900)
        async with AsyncEndpointClient(sync_client) as client:
            call = getattr(client, method)("only", TEXT_INPUT)
            task = asyncio.create_task(anext(call) if method == "stream" else call)
            await asyncio.to_thread(pausing.wait)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())
    assert len(aws.requests) == 1


def test_cancelled_call_leaves_neither_task_nor_thread(
    sync_client: EndpointClient, aws: Any
) -> None:
    aws.before_invoke = blocker = Blocker()

    async def run() -> None:
        async with AsyncEndpointClient(sync_client, concurrency=2) as client:
            call = asyncio.create_task(client.invoke("minilm", TEXT_INPUT))
            await asyncio.to_thread(blocker.reached.wait)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            aws.before_invoke = lambda: None
            await client.invoke("minilm", TEXT_INPUT)
            assert asyncio.all_tasks() == {asyncio.current_task()}
            blocker.released.set()
        threads = [thread.name for thread in threading.enumerate()]
        assert not any(name.startswith("endpoint_client") for name in threads)

    asyncio.run(run())


def test_timeout_includes_the_wait_for_a_thread(
    sync_client: EndpointClient, aws: Any, clock: Callable[[float], None]
) -> None:
    aws.before_invoke = blocker = Blocker()

    async def run() -> None:
        async with AsyncEndpointClient(sync_client, concurrency=1) as client:
            first = asyncio.create_task(client.invoke("minilm", TEXT_INPUT))
            await asyncio.to_thread(blocker.reached.wait)
            second = asyncio.create_task(client.invoke("minilm", TEXT_INPUT, timeout=5))
            await asyncio.sleep(0)
            clock(6)
            blocker.released.set()
            await first
            with pytest.raises(NotSent, match="timed out before it was sent"):
                await second

    asyncio.run(run())
    assert len(aws.requests) == 1
