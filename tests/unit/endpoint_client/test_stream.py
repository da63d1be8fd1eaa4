import json
import threading
from typing import Any

import pytest

from endpoint_client import (
    EndpointClient,
    InvalidInput,
    ModelCall,
    ModelFailed,
    NoCapacity,
    NoResponse,
)
from local_sagemaker.sagemaker.response_stream import message
from tests.unit.endpoint_client.conftest import PREFIX, Answer, New, parameter

SIGNATURE = {
    "inputs": [{"name": "PROMPT", "datatype": "BYTES", "shape": [1]}],
    "outputs": [{"name": "TEXT", "datatype": "BYTES", "shape": [1]}],
    "max_batch_size": 0,
}
HELLO = {"PROMPT": ["hello"]}


@pytest.mark.parametrize("text", ["1", "[]", "[" * 100_000, "{"])
def test_an_event_that_is_not_an_object_is_a_model_error(
    aws: Any, new_client: New, text: str
) -> None:
    aws.answers = [Answer(200, payload(f"data: {text}\n\n".encode()))]
    with pytest.raises(ModelFailed, match="invalid stream of Triton"):
        list(new_client().stream("speaks", HELLO))


@pytest.fixture(autouse=True)
def speaks(aws: Any) -> None:
    """A model that is hosted by itself."""
    value = parameter("speaks", target_model=None, signature=SIGNATURE)
    aws.parameters[f"{PREFIX}/speaks"] = value


def payload(part: bytes) -> bytes:
    return message("event", "PayloadPart", part)


def events(*texts: str) -> bytes:
    return b"".join(
        b"data: %b\n\n" % json.dumps({"model_name": "speaks", "TEXT": text}).encode()
        for text in texts
    )


def cut(content: bytes, size: int) -> list[bytes]:
    return [content[start : start + size] for start in range(0, len(content), size)]


def test_a_stream_asks_with_flat_json_and_gives_the_outputs_of_each_response(
    client: EndpointClient, aws: Any
) -> None:
    aws.answers = [Answer(200, payload(events("a", "b")))]
    stream = client.stream("speaks", HELLO, parameters={"TIMES": 2}, variant="Canary")
    assert list(stream) == [{"TEXT": "a"}, {"TEXT": "b"}]
    ((path, headers, body),) = aws.requests
    assert path == "/endpoints/prod-text/invocations-response-stream"
    assert headers["x-amzn-sagemaker-target-variant"] == "Canary"
    assert headers["content-type"] == "application/json"
    assert json.loads(body) == {"PROMPT": ["hello"], "parameters": {"TIMES": 2}}


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("part_size", [1, 16, 1000])
def test_an_event_may_be_cut_across_payload_parts_and_those_across_packets(
    client: EndpointClient, aws: Any, size: int, part_size: int
) -> None:
    stream = b"".join(payload(part) for part in cut(events("héllo", "two"), part_size))
    aws.answers = [Answer(200, *cut(stream, size))]
    assert [event["TEXT"] for event in client.stream("speaks", HELLO)] == ["héllo", "two"]


def test_each_response_comes_as_soon_as_it_is_sent(client: EndpointClient, aws: Any) -> None:
    received = threading.Event()

    def after_the_first(number: int) -> None:
        if number:
            received.wait()

    parts = [payload(events(text)) for text in ("a", "b")]
    aws.answers = [Answer(200, *parts, before_part=after_the_first)]
    texts = []
    for event in client.stream("speaks", HELLO):
        texts.append(event["TEXT"])
        received.set()
    assert texts == ["a", "b"]


def test_a_multi_model_endpoint_cannot_stream(client: EndpointClient, aws: Any) -> None:
    with pytest.raises(InvalidInput, match="a multi-model endpoint cannot stream: use invoke, or"):
        next(iter(client.stream("minilm", {"TEXT": ["a"]})))
    assert aws.requests == []


def test_triton_s_error_among_the_events_has_its_words(client: EndpointClient, aws: Any) -> None:
    aws.answers = [Answer(200, payload(events("a") + b'data: {"error":"out of tokens"}\n\n'))]
    stream = client.stream("speaks", HELLO)
    assert next(stream) == {"TEXT": "a"}
    with pytest.raises(ModelFailed, match=r"^speaks 0123456789ab: out of tokens$"):
        next(stream)


def stream_error(code: str) -> bytes:
    body = json.dumps({"Message": "gone", "ErrorCode": code}).encode()
    return message("exception", "ModelStreamError", body)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(200, stream_error("StreamBroken")), ".*gone"),
        (Answer(200, payload(events("a")[:-5])), "the stream ended within an event"),
        (Answer(200, payload(events("a")), breaks_off=True), ""),
    ],
)
def test_a_stream_that_breaks_is_no_response_and_not_begun_again(
    client: EndpointClient, aws: Any, answer: Answer, words: str
) -> None:
    aws.answers = [answer]
    with pytest.raises(NoResponse, match=f"^speaks 0123456789ab: {words}"):
        list(client.stream("speaks", HELLO))
    assert len(aws.requests) == 1


def test_a_stream_begins_again_only_while_nothing_was_answered(
    client: EndpointClient, aws: Any, sleeps: list[float]
) -> None:
    refusal = Answer.error("ServiceUnavailable", "none", 503)
    aws.answers = [refusal, Answer(200, payload(events("a")))]
    assert list(client.stream("speaks", HELLO)) == [{"TEXT": "a"}]
    assert len(sleeps) == 1
    aws.answers = [refusal] * 5
    with pytest.raises(NoCapacity, match="none"):
        list(client.stream("speaks", HELLO))


def test_a_stream_that_is_left_closes_its_connection(client: EndpointClient, aws: Any) -> None:
    left = threading.Event()

    def until_left(number: int) -> None:
        if number:
            left.wait()

    parts = [payload(events(text)) for text in ("a", "b")]
    aws.answers = [Answer(200, *parts, before_part=until_left)]
    stream: Any = client.stream("speaks", HELLO)
    next(stream)
    stream.close()
    left.set()
    aws.answers = [Answer(200, payload(events("c")))]
    assert list(client.stream("speaks", HELLO)) == [{"TEXT": "c"}]


def test_a_stream_is_measured_to_its_end(new_client: New, aws: Any) -> None:
    calls: list[ModelCall] = []
    client = new_client(metrics=calls.append)
    aws.answers = [Answer(200, payload(events("a", "b")))]
    stream = client.stream("speaks", HELLO)
    next(stream)
    assert calls == []
    list(stream)
    assert [(call.entry.model, call.error) for call in calls] == [("speaks", None)]
