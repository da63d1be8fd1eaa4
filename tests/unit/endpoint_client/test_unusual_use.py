"""What an application does to a client that its author did not think of."""

import asyncio
import json
import os
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import endpoint_client
from endpoint_client import (
    AsyncEndpointClient,
    EndpointClient,
    EndpointError,
    InvalidInput,
    ModelCall,
    ModelFailed,
    NoResponse,
    PartlyFailed,
    UnknownModel,
)
from tests.unit.endpoint_client.conftest import PREFIX, Answer, New, _Server, parameter
from tests.unit.endpoint_client.test_stream import SIGNATURE, payload

HELLO = {"TEXT": ["hello"]}
SPEAKS = parameter("speaks", target_model=None, signature=SIGNATURE)


def in_a_fork(call: Callable[[], object]) -> int:
    """Return the exit status of a child of this process that makes a call."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            call()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1]


@pytest.fixture
def threads_client(aws: Any) -> EndpointClient:
    return EndpointClient(stage="prod", endpoint="text", session=aws)


def test_a_fork_does_not_share_its_parents_connections(
    threads_client: EndpointClient, aws: Any
) -> None:
    threads_client.invoke("minilm", HELLO)
    before = aws.connections
    assert in_a_fork(lambda: threads_client.invoke("minilm", HELLO)) == 0
    assert aws.connections == before + 1
    threads_client.invoke("minilm", HELLO)
    assert aws.connections == before + 1


def test_a_fork_in_the_middle_of_a_look_up_looks_up_itself(
    threads_client: EndpointClient, aws: Any
) -> None:
    begun, over = threading.Event(), threading.Event()

    def hold(_: str) -> None:
        aws.before_look_up = lambda _: None
        begun.set()
        over.wait()

    aws.before_look_up = hold
    with ThreadPoolExecutor() as threads:
        future = threads.submit(threads_client.invoke, "minilm", HELLO)
        begun.wait()
        status = in_a_fork(lambda: threads_client.invoke("minilm", HELLO, timeout=60))
        over.set()
        future.result()
    assert status == 0


def test_a_client_serves_one_loop_after_the_other_and_two_at_once(
    threads_client: EndpointClient, aws: Any
) -> None:
    client = AsyncEndpointClient(threads_client)

    def run() -> Any:
        return asyncio.run(client.invoke("minilm", HELLO))["EMBEDDING"].tolist()

    assert run() == run() == [[b"hello"]]
    with ThreadPoolExecutor() as threads:
        assert [future.result() for future in [threads.submit(run), threads.submit(run)]] == 2 * [
            [[b"hello"]]
        ]
    asyncio.run(client.close())


def events(*contents: dict[str, Any]) -> bytes:
    parts = (b"data: %b\n\n" % json.dumps(content).encode() for content in contents)
    return payload(b"".join(parts))


def test_a_response_without_outputs_does_not_end_a_stream(client: EndpointClient, aws: Any) -> None:
    aws.parameters[f"{PREFIX}/speaks"] = SPEAKS
    aws.answers = [Answer(200, events({"model_name": "speaks"}, {"TEXT": "a"}))]
    assert list(client.stream("speaks", {"PROMPT": ["x"]})) == [{}, {"TEXT": "a"}]


def test_a_stream_that_is_cancelled_between_responses_is_closed_by_its_thread(
    threads_client: EndpointClient, aws: Any
) -> None:
    aws.parameters[f"{PREFIX}/speaks"] = SPEAKS
    over = threading.Event()
    calls: list[ModelCall] = []
    threads_client._metrics = calls.append

    def before_part(number: int) -> None:
        if number:
            over.wait()

    parts = [events({"TEXT": "a"}), events({"TEXT": "b"})]
    aws.answers = [Answer(200, *parts, before_part=before_part)]

    async def cancel() -> None:
        async with AsyncEndpointClient(threads_client) as client:
            first = asyncio.Event()

            async def read() -> None:
                async for _ in client.stream("speaks", {"PROMPT": ["x"]}):
                    first.set()

            task = asyncio.create_task(read())
            await first.wait()
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            over.set()

    asyncio.run(cancel())
    assert [call.error for call in calls] == [None]


def test_a_call_under_way_is_answered_after_close_and_later_ones_connect_again(
    threads_client: EndpointClient, aws: Any
) -> None:
    begun, over = threading.Event(), threading.Event()

    def hold(number: int) -> None:
        begun.set()
        over.wait()

    threads_client.invoke("minilm", HELLO)
    _, sent, body = aws.requests[-1]
    echoed = aws.invoke(body, sent["content-type"])
    aws.answers = [Answer(200, *echoed.parts, headers=echoed.headers, before_part=hold)]
    with ThreadPoolExecutor() as threads:
        future = threads.submit(threads_client.invoke, "minilm", HELLO)
        begun.wait()
        threads_client.close()
        over.set()
        assert future.result()["EMBEDDING"].tolist() == [[b"hello"]]
    assert threads_client.invoke("minilm", HELLO)["EMBEDDING"].tolist() == [[b"hello"]]


def test_close_closes_connections_though_errors_of_their_calls_are_kept(
    threads_client: EndpointClient, aws: Any, server: _Server
) -> None:
    aws.answers = [Answer.error("InternalFailure", status=500)]
    with pytest.raises(EndpointError) as kept:
        threads_client.invoke("minilm", HELLO)
    server.hung_up.clear()
    threads_client.close()
    assert server.hung_up.wait(60)
    assert kept.value.status == 500


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in endpoint_client.__all__
        if issubclass(getattr(endpoint_client, name), EndpointError)
    ],
)
def test_errors_go_from_process_to_process(name: str) -> None:
    error = getattr(endpoint_client, name)("words", status=503, request_id="r-1")
    if isinstance(error, PartlyFailed):
        error.failures, error.rows, error.outputs = {1: ModelFailed("no")}, [0], {}
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy)) == (type(error), str(error))
    assert {**vars(copy), "failures": 0} == {**vars(error), "failures": 0}


@pytest.mark.parametrize("body", [b"data: <html>\n\n", b": a comment\n\n"])
def test_a_stream_that_is_not_tritons_is_a_failed_model(
    client: EndpointClient, aws: Any, body: bytes
) -> None:
    aws.parameters[f"{PREFIX}/speaks"] = SPEAKS
    aws.answers = [Answer(200, payload(body))]
    with pytest.raises(ModelFailed, match="speaks 0123456789ab: invalid stream of Triton"):
        list(client.stream("speaks", {"PROMPT": ["x"]}))


def test_a_connection_that_is_reset_after_the_request_is_no_response(
    client: EndpointClient, aws: Any
) -> None:
    client.invoke("minilm", HELLO)

    def reset(*_: object) -> Answer:
        raise ConnectionResetError  # the server closes the connection

    aws.invoke = reset
    with pytest.raises(NoResponse) as raised:
        client.invoke("minilm", HELLO)
    assert not raised.value.retry_safe
    assert len(aws.requests) == 2


def test_an_answer_that_stops_in_the_middle_is_no_response(
    client: EndpointClient, aws: Any
) -> None:
    over = threading.Event()
    aws.answers = [Answer(200, b"{", b"}", before_part=lambda number: number and over.wait())]
    client.resolve("minilm")
    with pytest.raises(NoResponse):
        client.invoke("minilm", HELLO, timeout=0.2)
    over.set()
    assert len(aws.requests) == 1


def test_an_asyncio_client_that_is_closed_takes_no_calls(threads_client: EndpointClient) -> None:
    async def call() -> None:
        client = AsyncEndpointClient(threads_client)
        await client.close()
        with pytest.raises(RuntimeError, match="after shutdown"):
            await client.invoke("minilm", HELLO)
        await client.close()

    asyncio.run(call())


@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, b"<html>", headers={"Content-Type": "text/html"}),
        Answer(200, b"[]", headers={"Content-Type": "application/json"}),
        Answer(200, b"text"),
    ],
    ids=["a page", "a list", "no type"],
)
def test_an_answer_that_is_not_tritons_is_a_failed_model(
    new_client: New, aws: Any, answer: Answer
) -> None:
    calls: list[Any] = []
    aws.answers = [answer]
    with pytest.raises(ModelFailed, match="minilm 0123456789ab: invalid answer of Triton"):
        new_client(metrics=calls.append).invoke("minilm", HELLO)
    assert isinstance(calls[0].error, ModelFailed)


ITSELF: dict[str, Any] = {}
ITSELF["parameter"] = ITSELF


@pytest.mark.parametrize(
    "options",
    [
        {"parameters": {"sequence_id": np.int64(7)}},
        {"parameters": ITSELF},
        {"variant": 7},
        {"variant": "a\nb"},
    ],
    ids=str,
)
def test_options_of_another_type_are_refused_and_not_sent(
    client: EndpointClient, aws: Any, sleeps: list[float], options: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput, match=r"int64|Circular|TargetVariant|header value"):
        client.invoke("minilm", HELLO, **options)
    assert (aws.requests, sleeps) == ([], [])


def test_a_tensor_of_a_gpu_is_refused(client: EndpointClient, aws: Any) -> None:
    class OnGpu:
        def __array__(self, *_: Any) -> Any:
            raise TypeError("can't convert cuda:0 device type tensor to numpy")

    with pytest.raises(InvalidInput, match=r"input 'TEXT' .* cuda:0"):
        client.invoke("minilm", {"TEXT": OnGpu()})  # type: ignore[dict-item]


@pytest.mark.parametrize("value", [np.float32(1), np.zeros((1, 1), ">f4"), np.zeros((0,), "f4")])
def test_arrays_of_another_byte_order_or_rank_are_refused(
    client: EndpointClient, aws: Any, value: Any
) -> None:
    signature = {
        "inputs": [{"name": "X", "datatype": "FP32", "shape": [-1, 1]}],
        "outputs": [],
        "max_batch_size": 8,
    }
    aws.parameters[f"{PREFIX}/line"] = parameter("line", signature=signature)
    with pytest.raises(InvalidInput, match="input 'X' has"):
        client.invoke("line", {"X": value})


def test_the_names_beside_an_unknown_one_are_listed_within_the_time_of_the_call(
    client: EndpointClient, aws: Any, clock: Callable[[float], None]
) -> None:
    aws.before_look_up = lambda _: clock(2)
    with pytest.raises(EndpointError) as raised:
        client.invoke("bert", HELLO, timeout=1)
    assert not isinstance(raised.value, UnknownModel)
    assert aws.listings == []
