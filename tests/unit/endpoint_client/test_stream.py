"""Streams of responses."""

import json
from typing import Any

import pytest

from endpoint_client import EndpointClient, InvalidInput, ModelFailed, NoCapacity, NoResponse
from local_sagemaker.sagemaker.response_stream import encode_event
from tests.unit.endpoint_client.conftest import PREFIX, Blocker, Response, entry_text

SIGNATURE = {
    "inputs": [{"name": "PROMPT", "datatype": "BYTES", "shape": [1]}],
    "outputs": [{"name": "TEXT", "datatype": "BYTES", "shape": [1]}],
    "max_batch_size": 0,
}
HELLO = {"PROMPT": ["hello"]}


@pytest.fixture(autouse=True)
def _streaming_model(aws: Any) -> None:
    """Add `speaks`, a model of a single-model endpoint."""
    value = entry_text("speaks", target_model=None, signature=SIGNATURE)
    aws.entries[f"{PREFIX}speaks"] = value


def payload(chunk: bytes) -> bytes:
    return encode_event("event", "PayloadPart", chunk)


def events(*texts: str) -> bytes:
    return b"".join(
        b"data: %b\n\n" % json.dumps({"model_name": "speaks", "TEXT": text}).encode()
        for text in texts
    )


def split(content: bytes, size: int) -> list[bytes]:
    return [content[start : start + size] for start in range(0, len(content), size)]


def test_stream_sends_flat_json_and_yields_outputs(client: EndpointClient, aws: Any) -> None:
    aws.responses = [Response(200, payload(events("a", "b")))]
    stream = client.stream("speaks", HELLO, parameters={"TIMES": 2}, variant="Canary")
    assert list(stream) == [{"TEXT": "a"}, {"TEXT": "b"}]
    ((path, headers, body),) = aws.requests
    assert path == "/endpoints/prod-text/invocations-response-stream"
    assert headers["x-amzn-sagemaker-target-variant"] == "Canary"
    assert headers["content-type"] == "application/json"
    assert json.loads(body) == {"PROMPT": ["hello"], "parameters": {"TIMES": 2}}


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("chunk_size", [1, 16, 1000])
def test_events_may_be_split_across_parts_and_packets(
    client: EndpointClient, aws: Any, size: int, chunk_size: int
) -> None:
    stream = b"".join(payload(chunk) for chunk in split(events("héllo", "two"), chunk_size))
    aws.responses = [Response(200, *split(stream, size))]
    assert [event["TEXT"] for event in client.stream("speaks", HELLO)] == ["héllo", "two"]


def blocked_after_first_event(blocker: Blocker) -> Response:
    """Return a stream of two events that blocks between them."""
    chunks = [payload(events(text)) for text in ("a", "b")]
    return Response(200, *chunks, before_chunk=lambda number: number and blocker())


def test_events_are_yielded_immediately(client: EndpointClient, aws: Any) -> None:
    blocker = Blocker()
    aws.responses = [blocked_after_first_event(blocker)]
    texts = []
    for event in client.stream("speaks", HELLO):
        texts.append(event["TEXT"])
        blocker.released.set()
    assert texts == ["a", "b"]


def test_stream_of_multi_model_endpoint_is_rejected(client: EndpointClient, aws: Any) -> None:
    with pytest.raises(InvalidInput, match="a multi-model endpoint cannot stream: use invoke, or"):
        next(iter(client.stream("minilm", {"TEXT": ["a"]})))
    assert aws.requests == []


def test_error_event_is_a_model_error(client: EndpointClient, aws: Any) -> None:
    aws.responses = [Response(200, payload(events("a") + b'data: {"error":"out of tokens"}\n\n'))]
    stream = client.stream("speaks", HELLO)
    assert next(stream) == {"TEXT": "a"}
    with pytest.raises(ModelFailed, match=r"^speaks 0123456789ab: out of tokens$"):
        next(stream)


@pytest.mark.parametrize(
    "body", ["data: 1", "data: []", f"data: {'[' * 100_000}", "data: <html>", ": a comment"]
)
def test_invalid_event_is_a_model_error(client: EndpointClient, aws: Any, body: str) -> None:
    aws.responses = [Response(200, payload(f"{body}\n\n".encode()))]
    with pytest.raises(ModelFailed, match="speaks 0123456789ab: invalid stream from Triton"):
        list(client.stream("speaks", HELLO))


STREAM_ERROR = json.dumps({"Message": "gone", "ErrorCode": "StreamBroken"}).encode()


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (Response(200, encode_event("exception", "ModelStreamError", STREAM_ERROR)), ".*gone"),
        (Response(200, payload(events("a")[:-5])), "the stream ended within an event"),
        (Response(200, payload(events("a")), truncated=True), ""),
    ],
    ids=["ModelStreamError", "incomplete event", "connection error"],
)
def test_broken_stream_is_not_retried(
    client: EndpointClient, aws: Any, response: Response, error: str
) -> None:
    aws.responses = [response]
    with pytest.raises(NoResponse, match=f"^speaks 0123456789ab: {error}"):
        list(client.stream("speaks", HELLO))
    assert len(aws.requests) == 1


def test_stream_is_retried_before_the_first_response(
    client: EndpointClient, aws: Any, pauses: list[float]
) -> None:
    unavailable = Response.error("ServiceUnavailable", "none", 503)
    aws.responses = [unavailable, Response(200, payload(events("a")))]
    assert list(client.stream("speaks", HELLO)) == [{"TEXT": "a"}]
    assert len(pauses) == 1
    aws.responses = [unavailable] * 5
    with pytest.raises(NoCapacity, match="none"):
        list(client.stream("speaks", HELLO))


def test_closed_stream_closes_its_connection(client: EndpointClient, aws: Any) -> None:
    blocker = Blocker()
    aws.responses = [blocked_after_first_event(blocker)]
    stream: Any = client.stream("speaks", HELLO)
    next(stream)
    stream.close()
    blocker.released.set()
    aws.responses = [Response(200, payload(events("c")))]
    assert list(client.stream("speaks", HELLO)) == [{"TEXT": "c"}]
