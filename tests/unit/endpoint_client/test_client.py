import asyncio
import logging
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import numpy as np
import pytest
from botocore.exceptions import NoCredentialsError

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
    UnknownModel,
)
from endpoint_client._payload import MAX_BODY_BYTES
from endpoint_client._retries import CAPACITY, MAX_PAUSE, RETRY_COST, Deadline
from tests.unit.endpoint_client.conftest import BINARY, PREFIX, Answer, New, echo, parameter

ONE = {"TEXT": ["one"]}
SQUARE = {
    "inputs": [{"name": "X", "datatype": "FP32", "shape": [-1, 2]}],
    "outputs": [{"name": "Y", "datatype": "FP32", "shape": [-1, 2]}],
    "max_batch_size": 4,
}


def not_ready() -> Answer:
    return Answer.error("ModelNotReadyException", "still loading", 429)


NO_CAPACITY = (
    "Inference Component has no capacity to process this request. ApplicationAutoScaling may be "
    "in-progress (if configured) or try to increase the capacity by invoking "
    "UpdateInferenceComponentRuntimeConfig API."
)
"""Source: AWS machine learning blog, "Unlock cost savings with the new scale down to zero feature
in SageMaker Inference"."""


def no_copies() -> Answer:
    return Answer.error("ValidationError", NO_CAPACITY)


def throttled() -> Answer:
    return Answer.error("ThrottlingException", "Rate exceeded")


def model_error(status: int, words: str) -> Answer:
    message = f'Received error ({status}) from primary with message "..."'
    return Answer.error(
        "ModelError", message, 424, OriginalStatusCode=status, OriginalMessage=words
    )


@pytest.mark.parametrize("region", [None, ""])
def test_a_session_without_a_region_is_refused(
    new_client: New, aws: Any, region: str | None
) -> None:
    aws.region_name = region
    with pytest.raises(EndpointError, match=r"^no AWS region: set AWS_DEFAULT_REGION, or give "):
        new_client()


def test_a_model_is_invoked_by_its_name(client: EndpointClient, aws: Any) -> None:
    answer = client.invoke("minilm", {"TEXT": ["one", "two"]})
    assert answer["EMBEDDING"].tolist() == [[b"one"], [b"two"]]
    ((path, headers, _),) = aws.requests
    assert path == "/endpoints/prod-text/invocations"
    assert headers["x-amzn-sagemaker-target-model"] == "minilm-0123456789ab.tar.gz"
    assert headers["content-type"].startswith(BINARY)
    assert "x-amzn-sagemaker-target-variant" not in headers


def test_a_single_model_endpoint_is_asked_for_no_target(client: EndpointClient, aws: Any) -> None:
    aws.parameters[f"{PREFIX}/only"] = parameter("only", target_model=None)
    client.invoke("only", ONE)
    ((_, headers, _),) = aws.requests
    assert "x-amzn-sagemaker-target-model" not in headers


def test_an_inference_component_is_invoked_by_its_name(client: EndpointClient, aws: Any) -> None:
    entry = parameter("only", target_model=None, inference_component="prod-text-only")
    aws.parameters[f"{PREFIX}/only"] = entry
    client.invoke("only", ONE)
    ((_, headers, _),) = aws.requests
    assert headers["x-amzn-sagemaker-inference-component"] == "prod-text-only"
    assert "x-amzn-sagemaker-target-model" not in headers


def test_a_variant_is_asked_by_its_name(client: EndpointClient, aws: Any) -> None:
    client.invoke("minilm", ONE, variant="Canary")
    ((_, headers, _),) = aws.requests
    assert headers["x-amzn-sagemaker-target-variant"] == "Canary"


def test_requests_are_those_that_botocore_makes(
    client: EndpointClient, aws: Any, boto3_session: boto3.Session
) -> None:
    client.invoke("minilm", ONE)
    runtime: Any = boto3_session.client("sagemaker-runtime", endpoint_url=aws.url)
    ((path, headers, body),) = aws.requests
    runtime.invoke_endpoint(
        EndpointName="prod-text",
        TargetModel="minilm-0123456789ab.tar.gz",
        ContentType=headers["content-type"],
        Body=body,
    )
    runtime.close()
    (_, (its_path, its_headers, its_body)) = aws.requests
    assert (path, body) == (its_path, its_body)
    botocores_own = {"amz-sdk-invocation-id", "amz-sdk-request", "authorization", "x-amz-date"}
    for name in its_headers.keys() - botocores_own - {"user-agent", "accept-encoding"}:
        assert headers[name] == its_headers[name], name


def test_json_is_sent_and_asked_for_on_request(client: EndpointClient, aws: Any) -> None:
    client.invoke("minilm", ONE, binary=False)
    ((_, headers, _),) = aws.requests
    assert headers["content-type"] == "application/json"


def test_arrays_come_back_in_the_models_dtype(client: EndpointClient, aws: Any) -> None:
    aws.parameters[f"{PREFIX}/copy"] = parameter("copy", signature=SQUARE)
    array = np.array([[1.5, -0.0]], np.float32)
    for binary in (True, False):
        answer = client.invoke("copy", {"X": array}, binary=binary)["Y"]
        assert answer.dtype == np.float32
        np.testing.assert_array_equal(answer, array)


def test_the_catalog_is_asked_once_for_many_invocations(client: EndpointClient, aws: Any) -> None:
    for _ in range(3):
        client.invoke("minilm", ONE)
    assert client.resolve("minilm").version == "0123456789ab"
    assert aws.look_ups == [f"{PREFIX}/minilm"]


def test_an_unknown_model_is_refused_before_anything_is_sent(
    client: EndpointClient, aws: Any
) -> None:
    with pytest.raises(UnknownModel, match=r"no model 'bert' in /triton/prod/text: .* minilm$"):
        client.invoke("bert", {})
    assert aws.requests == []


@pytest.mark.parametrize(
    ("inputs", "options", "message"),
    [
        ({}, {}, "input 'TEXT' is missing"),
        (ONE, {"outputs": ["SCORE"]}, "no output 'SCORE': write one of EMBEDDING"),
        ({"TEXT": [b"x" * MAX_BODY_BYTES]}, {}, "the request has 62.* send fewer rows, or use .*"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_sent(
    client: EndpointClient, aws: Any, inputs: Any, options: Any, message: str
) -> None:
    with pytest.raises(InvalidInput, match=f"^minilm 0123456789ab: {message}$") as refused:
        client.invoke("minilm", inputs, **options)
    assert not refused.value.retry_safe
    assert aws.requests == []


# Failures


def test_an_invocation_is_repeated_while_the_model_loads(
    client: EndpointClient, aws: Any, sleeps: list[float]
) -> None:
    aws.answers = [not_ready() for _ in range(4)]
    assert client.invoke("minilm", ONE)["EMBEDDING"].tolist() == [[b"one"]]
    bounds = [(0.5, 1), (1, 2), (2, 4), (4, 8)]
    assert all(low <= slept <= high for slept, (low, high) in zip(sleeps, bounds, strict=True))
    assert len({body for _, _, body in aws.requests}) == 1


@pytest.mark.parametrize("attempts", [1, 3, None])
def test_a_model_that_never_gets_ready_is_given_up(
    new_client: New, aws: Any, sleeps: list[float], attempts: int | None
) -> None:
    client = new_client(**({"max_attempts": attempts} if attempts else {}))
    aws.answers = [not_ready() for _ in range(10)]
    with pytest.raises(ModelNotReady, match=r"^minilm 0123456789ab: still loading$") as refused:
        client.invoke("minilm", ONE)
    assert (refused.value.status, refused.value.retry_safe) == (429, True)
    assert len(aws.requests) == (attempts or 5)
    assert len(sleeps) == (attempts or 5) - 1  # nothing is waited for after the last


@pytest.mark.parametrize(
    ("answer", "kind", "status", "message"),
    [
        (throttled, Throttled, 400, "Rate exceeded"),
        (lambda: Answer.error("ServiceUnavailable", "none", 503), NoCapacity, 503, "none"),
        (lambda: model_error(503, "Exceeds maximum queue size"), NoCapacity, 503, "Exceeds .*"),
        (not_ready, ModelNotReady, 429, "still loading"),
    ],
)
def test_what_the_model_has_not_seen_is_sent_again(
    client: EndpointClient,
    aws: Any,
    answer: Callable[[], Answer],
    kind: type[EndpointError],
    status: int,
    message: str,
) -> None:
    aws.answers = [answer() for _ in range(4)]
    assert client.invoke("minilm", ONE)["EMBEDDING"].tolist() == [[b"one"]]
    assert len(aws.requests) == 5
    aws.answers = [answer() for _ in range(5)]
    with pytest.raises(EndpointError, match=f"^minilm 0123456789ab: {message}$") as refused:
        client.invoke("minilm", ONE)
    assert type(refused.value) is kind
    assert (refused.value.status, refused.value.request_id) == (status, "request-1")


@pytest.mark.parametrize(
    ("answer", "kind", "status", "message"),
    [
        (model_error(400, "batch 40 > 32"), ModelFailed, 400, "batch 40 > 32"),
        (model_error(507, "no memory"), ModelFailed, 507, "no memory"),
        (Answer.error("ModelError", "did not answer", 424), ModelFailed, None, "did not answer"),
        (model_error(0, "Your invocation timed out"), NoResponse, 0, "Your invocation timed out"),
        (Answer.error("InternalFailure", "oh", 500), EndpointError, 500, "oh"),
        (Answer.error("ValidationError", "Endpoint not found."), EndpointError, 400, "Endpoint .*"),
        (Answer(413), EndpointError, 413, "413"),
    ],
)
def test_what_the_model_may_have_seen_is_not_sent_again(
    client: EndpointClient,
    aws: Any,
    answer: Answer,
    kind: type[EndpointError],
    status: int | None,
    message: str,
) -> None:
    aws.answers = [answer]
    with pytest.raises(EndpointError, match=f"^minilm 0123456789ab: {message}") as refused:
        client.invoke("minilm", ONE)
    assert type(refused.value) is kind
    assert (refused.value.status, refused.value.retry_safe) == (status, False)
    assert len(aws.requests) == 1


def test_an_answer_that_breaks_off_is_not_asked_for_again(client: EndpointClient, aws: Any) -> None:
    aws.answers = [Answer(200, b"{", breaks_off=True)]
    with pytest.raises(NoResponse, match=r"^minilm 0123456789ab: ") as refused:
        client.invoke("minilm", ONE)
    assert not refused.value.retry_safe
    assert len(aws.requests) == 1


def test_an_answer_that_comes_too_late_is_no_response(client: EndpointClient, aws: Any) -> None:
    client.resolve("minilm")
    late = threading.Event()
    aws.answers = [Answer(200, b"{", before_part=lambda _: late.wait())]
    with pytest.raises(NoResponse):
        client.invoke("minilm", ONE, timeout=0.2)
    late.set()
    assert len(aws.requests) == 1


def test_an_endpoint_that_takes_no_connection_was_sent_nothing(
    new_client: New, aws: Any, sleeps: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        make, url = aws.client, f"http://127.0.0.1:{nobody.getsockname()[1]}"

        def client_of(name: str, config: Any) -> Any:
            if name == "ssm":
                return make(name, config)
            return aws.boto3_session.client(name, endpoint_url=url, config=config)

        monkeypatch.setattr(aws, "client", client_of)
        with pytest.raises(NotSent, match=r"^minilm 0123456789ab: ") as refused:
            new_client().invoke("minilm", ONE)
    assert refused.value.retry_safe
    assert len(sleeps) == 4


def test_credentials_that_are_missing_mean_that_nothing_was_sent(
    client: EndpointClient, sleeps: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def sign(*_: object) -> None:
        raise NoCredentialsError

    monkeypatch.setattr("botocore.auth.SigV4Auth.add_auth", sign)
    with pytest.raises(NotSent, match="Unable to locate credentials") as raised:
        client.invoke("minilm", ONE)
    assert (raised.value.retry_safe, sleeps) == (True, [])  # they would still be missing


def test_no_attempt_begins_when_the_time_is_over(
    client: EndpointClient, aws: Any, sleeps: list[float], clock: Callable[[float], None]
) -> None:
    def slow(*_: object) -> Answer:
        clock(4)
        return not_ready()

    aws.invoke = slow
    with pytest.raises(ModelNotReady):
        client.invoke("minilm", ONE, timeout=8)
    assert (len(aws.requests), len(sleeps)) == (2, 1)
    with pytest.raises(NotSent, match=r"is not done in time|timed out before it was sent"):
        client.invoke("minilm", ONE, timeout=0)


@pytest.mark.parametrize("refusal", [throttled, not_ready])
def test_an_endpoint_that_refuses_everything_gets_no_more_load_from_retries(
    client: EndpointClient, aws: Any, refusal: Callable[[], Answer]
) -> None:
    aws.invoke = lambda *_: refusal()
    for _ in range(100):
        with pytest.raises((Throttled, ModelNotReady)):
            client.invoke("minilm", ONE)
    assert len(aws.requests) == 100 + CAPACITY // RETRY_COST
    aws.invoke = echo
    for _ in range(RETRY_COST):
        client.invoke("minilm", ONE)
    aws.answers = [throttled()]
    client.invoke("minilm", ONE)  # what succeeds pays for a retry again


# Models that are not ready


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch, clock: Callable[[float], None]) -> list[float]:
    """The pauses between attempts, whose time passes at once."""
    lengths: list[float] = []

    def pause(_: Deadline, seconds: float) -> None:
        lengths.append(seconds)
        clock(seconds)

    monkeypatch.setattr(Deadline, "pause", pause)
    return lengths


def test_a_component_without_a_copy_has_no_capacity_and_is_not_called_again(
    client: EndpointClient, aws: Any, sleeps: list[float]
) -> None:
    aws.answers = [no_copies()]
    with pytest.raises(NoCapacity, match=r"^minilm \w+: Inference Component has no cap") as refused:
        client.invoke("minilm", ONE)
    assert type(refused.value) is NoCopies
    assert (refused.value.status, refused.value.retry_safe) == (400, True)
    assert (len(aws.requests), sleeps) == (1, [])


@pytest.mark.usefixtures("pauses")
@pytest.mark.parametrize("refusal", [no_copies, not_ready])
def test_a_caller_may_wait_until_a_model_is_ready(
    new_client: New, aws: Any, refusal: Callable[[], Answer]
) -> None:
    client = new_client(wait_until_ready=600)
    aws.answers = [refusal() for _ in range(30)]
    assert client.invoke("minilm", ONE)["EMBEDDING"].tolist() == [[b"one"]]
    assert len(aws.requests) == 31
    aws.answers = [throttled() for _ in range(4)]  # the wait has used neither attempts nor budget
    client.invoke("minilm", ONE)


@pytest.mark.usefixtures("pauses")
def test_a_wait_ends_with_its_time_and_with_that_of_the_call(
    new_client: New, aws: Any, pauses: list[float]
) -> None:
    client = new_client(wait_until_ready=600)
    aws.invoke = lambda *_: no_copies()
    for timeout, seconds in ((None, 600), (100, 100)):
        pauses.clear()
        with pytest.raises(NoCopies):
            client.invoke("minilm", ONE, timeout=timeout)
        assert seconds - MAX_PAUSE <= sum(pauses) <= seconds
        assert max(pauses) <= MAX_PAUSE


@pytest.mark.usefixtures("pauses")
def test_a_wait_for_copies_does_not_make_other_failures_free(new_client: New, aws: Any) -> None:
    client = new_client(wait_until_ready=600)
    aws.answers = [no_copies(), *(throttled() for _ in range(5)), no_copies()]
    with pytest.raises(Throttled):
        client.invoke("minilm", ONE)
    assert len(aws.requests) == 6


@pytest.mark.usefixtures("pauses")
def test_all_rows_of_many_wait_for_a_copy(new_client: New, aws: Any) -> None:
    client = new_client(wait_until_ready=600)
    aws.answers = [no_copies() for _ in range(40)]
    texts = [f"text {number}" for number in range(30)]
    outputs = client.invoke_many("minilm", {"TEXT": texts})
    assert outputs["EMBEDDING"].ravel().tolist() == [text.encode() for text in texts]


# Many rows


def test_rows_are_split_by_the_batch_size_and_come_back_in_order(
    client: EndpointClient, aws: Any
) -> None:
    aws.parameters[f"{PREFIX}/copy"] = parameter("copy", signature=SQUARE)
    rows = np.arange(46, dtype=np.float32).reshape(23, 2)
    answer = client.invoke_many("copy", {"X": rows})
    np.testing.assert_array_equal(answer["Y"], rows)
    assert len(aws.requests) == 6
    answer["Y"][0, 0] = 1


def test_rows_are_split_by_the_size_of_a_request(client: EndpointClient, aws: Any) -> None:
    rows = [bytes([65 + number]) * (MAX_BODY_BYTES // 3) for number in range(5)]
    aws.invoke = lambda *_: Answer(200, b"{}", headers={"Content-Type": "application/json"})
    client.invoke_many("minilm", {"TEXT": rows})
    assert len(aws.requests) == 3
    assert all(len(body) <= MAX_BODY_BYTES for _, _, body in aws.requests)


def test_rows_that_fail_are_named_beside_the_outputs_of_the_others(
    client: EndpointClient, aws: Any
) -> None:
    def fail(body: bytes, content_type: str) -> Answer:
        return model_error(400, "bad") if b"poison" in body else echo(body, content_type)

    aws.invoke = fail
    texts = [f"text {number}" for number in range(20)]
    texts[9] = "poison"
    with pytest.raises(PartlyFailed, match="8 of 20 rows failed, the first because of: ") as failed:
        client.invoke_many("minilm", {"TEXT": texts})
    error = failed.value
    assert list(error.failures) == list(range(8, 16))
    assert {type(failure) for failure in error.failures.values()} == {ModelFailed}
    assert error.rows == [*range(8), *range(16, 20)]
    assert error.outputs["EMBEDDING"].ravel().tolist() == [
        texts[row].encode() for row in error.rows
    ]


def test_a_row_that_is_larger_than_a_request_is_the_only_one_that_fails(
    client: EndpointClient, aws: Any
) -> None:
    with pytest.raises(PartlyFailed) as failed:
        client.invoke_many("minilm", {"TEXT": [b"a", b"x" * MAX_BODY_BYTES, b"b"]})
    assert list(failed.value.failures) == [1]
    assert failed.value.outputs["EMBEDDING"].tolist() == [[b"a"], [b"b"]]


def test_no_more_requests_are_under_way_than_asked_for(client: EndpointClient, aws: Any) -> None:
    now, most, lock = [0], [0], threading.Lock()
    together = threading.Barrier(3)

    def count(body: bytes, content_type: str) -> Answer:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        together.wait()  # for as many as may be under way
        with lock:
            now[0] -= 1
        return echo(body, content_type)

    aws.invoke = count
    client.invoke_many("minilm", {"TEXT": ["a"] * 48}, concurrency=3)
    assert most == [3]


@pytest.mark.parametrize(
    ("batch", "rows", "message"),
    [
        (0, 3, r"the model has no batch axis \(max_batch_size: 0\): use invoke"),
        (8, 0, r"inputs have {'TEXT': 0} rows: give each the same number, at least 1"),
    ],
)
def test_what_cannot_be_split_is_refused(
    client: EndpointClient, aws: Any, batch: int, rows: int, message: str
) -> None:
    aws.parameters[f"{PREFIX}/minilm"] = parameter(max_batch_size=batch)
    with pytest.raises(InvalidInput, match=f"^minilm 0123456789ab: {message}$"):
        client.invoke_many("minilm", {"TEXT": ["a"] * rows})


def test_inputs_of_different_lengths_are_no_rows(client: EndpointClient, aws: Any) -> None:
    signature = {**SQUARE, "inputs": [{**SQUARE["inputs"][0], "name": name} for name in "AB"]}  # type: ignore[index]
    aws.parameters[f"{PREFIX}/pair"] = parameter("pair", signature=signature)
    with pytest.raises(InvalidInput, match=r"inputs have {'A': 1, 'B': 2} rows: "):
        client.invoke_many("pair", {"A": [[1, 2]], "B": [[1, 2], [3, 4]]})


# Metrics


def test_each_invocation_is_measured_with_its_error(
    new_client: New, aws: Any, clock: Callable[[float], None]
) -> None:
    calls: list[ModelCall] = []
    client = new_client(metrics=calls.append)

    def slow(body: bytes, content_type: str) -> Answer:
        clock(3)
        return echo(body, content_type)

    aws.invoke = slow
    client.invoke("minilm", ONE)
    aws.answers = [model_error(400, "no")]
    with pytest.raises(ModelFailed) as failed:
        client.invoke("minilm", ONE)
    entry = client.resolve("minilm")
    assert calls == [ModelCall(entry, 3.0, None), ModelCall(entry, 0.0, failed.value)]


# Connections


def test_more_threads_than_botocore_has_connections_share_a_client(
    aws: Any, caplog: pytest.LogCaptureFixture
) -> None:
    together = threading.Barrier(32)

    def answer(body: bytes, content_type: str) -> Answer:
        together.wait()
        return echo(body, content_type)

    aws.invoke = answer
    with (
        caplog.at_level(logging.WARNING),
        EndpointClient(stage="prod", endpoint="text", session=aws) as client,
        ThreadPoolExecutor(32) as threads,
    ):
        client.resolve("minilm")
        list(threads.map(lambda _: client.invoke("minilm", ONE), range(64)))
    assert caplog.messages == []


def test_a_connection_is_used_again(client: EndpointClient, aws: Any) -> None:
    for _ in range(5):
        client.invoke("minilm", ONE)
    aws.answers = [throttled(), model_error(400, "no")]
    with pytest.raises(ModelFailed):
        client.invoke("minilm", ONE)
    client.invoke("minilm", ONE)
    assert aws.connections == 1


def test_a_call_that_is_cancelled_leaves_neither_task_nor_thread(aws: Any) -> None:
    reached, over = threading.Event(), threading.Event()

    def wait(*_: object) -> Answer:
        reached.set()
        over.wait()
        return throttled()

    aws.invoke = wait

    async def cancelled() -> None:
        client = EndpointClient(stage="prod", endpoint="text", session=aws)
        async with AsyncEndpointClient(client, concurrency=2) as asynchronous:
            call = asyncio.create_task(asynchronous.invoke("minilm", ONE))
            await asyncio.to_thread(reached.wait)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            aws.invoke = echo
            await asynchronous.invoke("minilm", ONE)
            assert asyncio.all_tasks() == {asyncio.current_task()}
            over.set()
        threads = [thread.name for thread in threading.enumerate()]
        assert not any(name.startswith("endpoint_client") for name in threads)

    asyncio.run(cancelled())


@pytest.mark.parametrize("method", ["invoke", "invoke_many", "stream"])
def test_a_call_that_is_cancelled_while_it_waits_for_a_copy_sends_nothing_more(
    aws: Any, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    pausing = threading.Event()
    entry = parameter("only", target_model=None, inference_component="prod-text-only")
    aws.parameters[f"{PREFIX}/only"] = entry

    def pause(deadline: Deadline, _: float) -> None:
        assert not pausing.is_set()  # after a second request
        pausing.set()
        deadline._cancelled.wait()

    monkeypatch.setattr(Deadline, "pause", pause)
    aws.invoke = lambda *_: no_copies()

    async def cancelled() -> None:
        client = EndpointClient(stage="prod", endpoint="text", session=aws, wait_until_ready=900)
        async with AsyncEndpointClient(client) as asynchronous:
            call = getattr(asynchronous, method)("only", ONE)
            task = asyncio.create_task(anext(call) if method == "stream" else call)
            await asyncio.to_thread(pausing.wait)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        # The client is closed once the thread has left the call.

    asyncio.run(cancelled())
    assert len(aws.requests) == 1


def test_what_a_coroutine_waits_for_a_thread_is_part_of_its_time(
    aws: Any, clock: Callable[[float], None]
) -> None:
    reached, over = threading.Event(), threading.Event()

    def wait(body: bytes, content_type: str) -> Answer:
        reached.set()
        over.wait()
        return echo(body, content_type)

    aws.invoke = wait

    async def waiting() -> None:
        client = EndpointClient(stage="prod", endpoint="text", session=aws)
        async with AsyncEndpointClient(client, concurrency=1) as asynchronous:
            first = asyncio.create_task(asynchronous.invoke("minilm", ONE))
            await asyncio.to_thread(reached.wait)
            second = asyncio.create_task(asynchronous.invoke("minilm", ONE, timeout=5))
            await asyncio.sleep(0)
            clock(6)
            over.set()
            await first
            with pytest.raises(NotSent, match="timed out before it was sent"):
                await second

    asyncio.run(waiting())
    assert len(aws.requests) == 1
