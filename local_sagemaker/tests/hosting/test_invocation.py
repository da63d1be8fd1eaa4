"""Invocations from the client's socket to the container's socket, and their responses."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.capacity import Capacity
from local_sagemaker.hosting.connections import CHUNK_BYTES, Connection, Connections
from local_sagemaker.hosting.instance import Instance, RunningServer
from local_sagemaker.hosting.invocation import MAX_BODY_BYTES, Invocation, model_error
from local_sagemaker.hosting.single_model_container import SingleModelContainer
from local_sagemaker.metrics.metric_buffer import MetricBuffer
from local_sagemaker.sagemaker.invocations import Invocations
from local_sagemaker.tests.conftest import Streams, client, served

Script = Callable[["Container", asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LOOP_ITERATIONS = 2000
"""Event-loop iterations after which all tasks are blocked on I/O."""


class Container:
    """A container that handles each connection with `script` and records the requests."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.connections = 0
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []
        self.client_disconnected = asyncio.Event()

    async def request(self, reader: asyncio.StreamReader) -> None:
        """Read a request, or raise `IncompleteReadError`."""
        self.heads.append(await reader.readuntil(b"\r\n\r\n"))
        length = int(self.heads[-1].split(b"Content-Length: ")[1].split(b"\r\n")[0])
        self.bodies.append(await reader.readexactly(length))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                await self._script(self, reader, writer)
        except (EOFError, OSError):
            self.client_disconnected.set()
        finally:
            writer.close()


def respond_always(answer: bytes = OK) -> Script:
    """Read each request and answer it."""

    async def script(
        container: Container, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await container.request(reader)
        writer.write(answer)

    return script


def respond_and_close(answer: bytes) -> Script:
    """Read a request, answer it and disconnect."""

    async def script(
        container: Container, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await container.request(reader)
        writer.write(answer)
        raise EOFError

    return script


@asynccontextmanager
async def endpoint(script: Script) -> AsyncIterator[tuple[Container, int]]:
    """Serve InvokeEndpoint on a port, with this container behind it."""
    container = Container(script)
    server = await asyncio.start_server(container.serve, "127.0.0.1", 0)
    address = server.sockets[0].getsockname()
    connections = Connections(lambda: socket.create_connection(address), Path())
    instance = Instance("only", lambda: running_server)
    triton: Any = SimpleNamespace(connections=connections)
    running_server = RunningServer(
        triton, SingleModelContainer("one", "/invocations"), Path(), Capacity(memory=1, disk=1)
    )
    instance.healthy_server = running_server
    fleet = SimpleNamespace(counts={}, config="one")
    text: Any = SimpleNamespace(
        route=lambda *_: (fleet, instance), plan=SimpleNamespace(config={}), hosts_components=False
    )
    recorder: Any = None
    invocations = Invocations({"text": text}, recorder, MetricBuffer(speed=1), components={})
    async with served(invocations) as port:
        yield container, port
        connections.close()
        connections._close_idle()
    server.close()
    await server.wait_closed()


def request(body: bytes = b"question", *headers: str, length: int | None = None) -> bytes:
    lines = [f"Content-Length: {len(body) if length is None else length}", *headers]
    head = "\r\n".join(["POST /endpoints/text/invocations HTTP/1.1", "Host: localhost", *lines])
    return f"{head}\r\n\r\n".encode() + body


Answer = tuple[int, dict[str, str], bytes]


async def read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[:-2]
    return int(first.split()[1]), dict(line.split(": ", 1) for line in lines)


async def read_answer(reader: asyncio.StreamReader) -> Answer:
    status, headers = await read_head(reader)
    if "content-length" in headers:
        return status, headers, await reader.readexactly(int(headers["content-length"]))
    body = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)
    return status, headers, body


async def ask(streams: Streams, data: bytes | None = None) -> Answer:
    reader, writer = streams
    writer.write(request() if data is None else data)
    return await read_answer(reader)


async def invoke_once(script: Script, data: bytes | None = None) -> tuple[Container, Answer]:
    """Return the container and its answer to one request."""
    async with endpoint(script) as (container, port), client(port) as streams:
        return container, await ask(streams, data)


def error_of(answer: Answer) -> dict[str, Any]:
    """Return a ModelError's content."""
    status, headers, body = answer
    assert (status, headers["x-amzn-errortype"]) == (424, "ModelError")
    content: dict[str, Any] = json.loads(body)
    return content


# Forwarded headers and bodies


async def test_only_headers_of_the_api_reach_the_container() -> None:
    forwarded = [
        "Content-Type: application/json; charset=utf-8",
        "Accept: application/json",
        "X-Amzn-SageMaker-Custom-Attributes: trace=1",
        "X-Amzn-SageMaker-Inference-Id: 7",
        "X-Amzn-SageMaker-Target-Variant: only",
    ]
    stripped = [
        "Authorization: AWS4-HMAC-SHA256 secret",
        "X-Amz-Security-Token: secret",
        "X-Forwarded-For: 10.0.0.1",
        "Cookie: a=b",
    ]
    container, _ = await invoke_once(respond_always(), request(b"question", *forwarded, *stripped))
    first, *lines = container.heads[0].decode().split("\r\n")[:-2]
    assert first == "POST /invocations HTTP/1.1"
    assert sorted(lines) == sorted(
        ["Host: localhost", "Content-Length: 8"]
        + [f"{name.lower()}: {value}" for name, value in (h.split(": ") for h in forwarded[:-1])]
    )
    assert container.bodies == [b"question"]


async def test_only_response_headers_of_the_api_are_returned() -> None:
    head = (
        b"HTTP/1.1 200 OK\r\nServer: triton\r\nX-Amzn-SageMaker-Custom-Attributes: trace=2\r\n"
        b"Content-Type: application/vnd.sagemaker-triton.binary+json;json-header-size=9\r\n"
        b"Content-Length: 2\r\n\r\nok"
    )
    _, (status, headers, body) = await invoke_once(respond_always(head))
    assert (status, body) == (200, b"ok")
    assert headers.pop("x-amzn-requestid")
    assert headers == {
        "x-amzn-invoked-production-variant": "only",
        "x-amzn-sagemaker-custom-attributes": "trace=2",
        "content-type": "application/vnd.sagemaker-triton.binary+json;json-header-size=9",
        "content-length": "2",
    }


async def test_chunked_request_reaches_the_container_with_content_length() -> None:
    data = (
        b"POST /endpoints/text/invocations HTTP/1.1\r\nHost: localhost\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"
    )
    container, answer = await invoke_once(respond_always(), data)
    assert (container.bodies, answer[0]) == ([b"abcdefg"], 200)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


# Connections to the container


async def test_connection_closed_by_the_container_is_not_reused() -> None:
    closing = OK.replace(b"\r\n\r\n", b"\r\nConnection: Close\r\n\r\n")
    async with endpoint(respond_always(closing)) as (container, port), client(port) as streams:
        for _ in range(2):
            assert (await ask(streams))[2] == b"ok"
    assert container.connections == 2


# Errors


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart",
        CHUNKED + b"4\r\npart\r\n9\r\n",
    ],
)
async def test_truncated_container_response_aborts_client_response(
    data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with endpoint(respond_and_close(data)) as (_, port), client(port) as (reader, writer):
        writer.write(request())
        assert (await read_head(reader))[0] == 200
        body = await reader.read()
    assert not body.endswith(b"0\r\n\r\n")
    assert len(body) < 9 or b"9" not in body[:2]
    assert "Traceback" not in caplog.text


async def test_chunked_response_over_6_mib_is_aborted() -> None:
    chunk = f"{MAX_BODY_BYTES:x}\r\n".encode() + LARGE + b"\r\n"
    answer = CHUNKED + chunk + b"1\r\nx\r\n0\r\n\r\n"
    async with endpoint(respond_always(answer)) as (_, port), client(port) as (reader, writer):
        writer.write(request())
        assert (await read_head(reader))[0] == 200
        assert not (await reader.read()).endswith(b"0\r\n\r\n")


@pytest.mark.parametrize(
    "data",
    [
        b"no HTTP\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n12345",
        b"HTTP/1.1 400 No\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 400 No\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\nno\r\n",
        CHUNKED + b"4\r\npart\r\nx\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: a\0b\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: a\nb\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nX: " + bytes(3 * CHUNK_BYTES),
    ],
)
async def test_invalid_http_response_is_a_model_error(
    data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    _, answer = await invoke_once(respond_and_close(data))
    message = error_of(answer)["message"]
    assert message.startswith("The container did not answer: invalid response of the container")
    assert len(message) < 300
    assert caplog.text == ""


@pytest.mark.parametrize(("status", "size"), [("200 OK", MAX_BODY_BYTES + 1), ("400 No", 10**18)])
async def test_response_over_6_mib_is_a_model_error(status: str, size: int) -> None:
    head = f"HTTP/1.1 {status}\r\nContent-Length: {size}\r\n\r\nbegin".encode()
    _, answer = await invoke_once(respond_and_close(head))
    error = error_of(answer)
    assert error["OriginalMessage"] == f"the response has {size} bytes, more than {MAX_BODY_BYTES}"
    assert error["OriginalStatusCode"] == 500


# Responses and disconnects during a request


async def respond_after_the_head(
    container: Container, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Respond after the request head without reading the body."""
    container.heads.append(await reader.readuntil(b"\r\n\r\n"))
    writer.write(b"HTTP/1.1 400 No\r\nContent-Length: 4\r\n\r\nnope")
    await container.client_disconnected.wait()
    raise EOFError


async def test_response_before_the_end_of_the_request_is_returned() -> None:
    async with (
        endpoint(respond_after_the_head) as (container, port),
        client(port) as (reader, writer),
    ):
        writer.write(request(b"the beginning", length=1000))
        answer = await read_answer(reader)
        container.client_disconnected.set()
    assert error_of(answer)["OriginalMessage"] == "nope"


async def test_early_response_closes_the_connection_of_a_partial_request() -> None:
    async def early(
        container: Container, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)

    async with endpoint(early) as (container, port):
        async with client(port) as (reader, writer):
            writer.write(request(b"the beginning", length=1000))
            assert (await read_answer(reader))[2] == b"ok"
        async with client(port) as streams:
            assert (await ask(streams))[2] == b"ok"
        assert container.connections == 2


# Backpressure


class Client:
    """A fake ASGI client that sends `chunks`; `send` blocks until `reads` is set."""

    def __init__(self, chunks: list[bytes], *, reads: bool = True) -> None:
        self._chunks = list(chunks)
        self.size = sum(map(len, chunks))
        self.received_sizes: list[int] = []
        self.reads = asyncio.Event()
        if reads:
            self.reads.set()

    @property
    def unsent(self) -> int:
        return len(self._chunks)

    async def receive(self) -> Any:
        chunk = self._chunks.pop(0)
        return {"type": "http.request", "body": chunk, "more_body": bool(self._chunks)}

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.body":
            self.received_sizes.append(len(message["body"]))
            await self.reads.wait()

    async def start_invocation(self) -> Invocation:
        headers = {b"content-length": str(self.size).encode()}
        invocation = Invocation(headers, self.receive, self.send)
        await invocation.receive()
        return invocation


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[Connection, Streams]]:
    """Yield a connection and the container's end of it."""
    client_end, container_end = socket.socketpair()
    client_end.setblocking(False)
    container_end.setblocking(False)
    reader, writer = await asyncio.open_connection(sock=client_end, limit=CHUNK_BYTES)
    container = await asyncio.open_connection(sock=container_end)
    try:
        yield Connection(reader, writer), container
    finally:
        writer.transport.abort()
        container[1].transport.abort()
        await asyncio.sleep(0)


async def run_loop_until_idle() -> None:
    for _ in range(LOOP_ITERATIONS):
        await asyncio.sleep(0)


LARGE = bytes(MAX_BODY_BYTES)
HEADS = {
    "of known length": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(LARGE),
    "in one chunk": CHUNKED + b"%x\r\n" % len(LARGE),
}


@pytest.mark.parametrize("kind", HEADS)
async def test_response_backpressure(kind: str) -> None:
    client = Client([b""], reads=False)
    invocation = await client.start_invocation()
    async with connected() as (connection, (_, container)):
        container.write(HEADS[kind] + LARGE + (b"\r\n0\r\n\r\n" if "chunk" in kind else b""))
        forwarding = asyncio.ensure_future(invocation.forward(connection, "/invocations"))
        await run_loop_until_idle()
        assert len(client.received_sizes) == 1
        # The sockets and the StreamReader (two chunks) buffer some bytes.
        assert container.transport.get_write_buffer_size() > len(LARGE) - 8 * CHUNK_BYTES
        client.reads.set()
        assert await forwarding
    assert sum(client.received_sizes) == len(LARGE)
    assert max(client.received_sizes) <= CHUNK_BYTES


async def test_request_body_backpressure() -> None:
    client = Client([bytes(1 << 16)] * 96)
    invocation = await client.start_invocation()
    async with connected() as (connection, (reader, container)):
        container.transport.pause_reading()  # type: ignore[attr-defined]
        forwarding = asyncio.ensure_future(invocation.forward(connection, "/invocations"))
        await run_loop_until_idle()
        assert client.unsent > 48
        container.transport.resume_reading()  # type: ignore[attr-defined]
        await reader.readuntil(b"\r\n\r\n")
        assert len(await reader.readexactly(client.size)) == client.size
        container.write(OK)
        assert await forwarding
    assert client.unsent == 0


@pytest.mark.parametrize(
    ("status", "body", "kind", "text"),
    [
        (400, b"no input X", "client error (400)", "no input X"),
        (500, b"\xff", "server error (500)", "\N{REPLACEMENT CHARACTER}"),
        (
            400,
            rb"At:\n  /home/me/.venv/lib/python3.11/site-packages/numpy/linalg.py(206): inv\n"
            rb"  /home/me/aws/backends/onnxruntime/model.py(18): load\n"
            rb"  /opt/ml/models/0a/model/m/1/python3.10/model.py(2): <module>\n",
            "client error (400)",
            r"At:\n  python3.11/site-packages/numpy/linalg.py(206): inv\n"
            r"  backends/onnxruntime/model.py(18): load\n"
            r"  /opt/ml/models/0a/model/m/1/python3.10/model.py(2): <module>\n",
        ),
    ],
)
def test_model_error_has_the_message_of_sagemaker(
    status: int, body: bytes, kind: str, text: str
) -> None:
    error = model_error(status, body)
    assert error.message == f'Received {kind} from primary with message "{text}"'
    assert error.fields["OriginalStatusCode"] == status


def test_target_model_of_a_single_model_has_an_error_code() -> None:
    with pytest.raises(ApiError) as refused:
        SingleModelContainer("one", "/invocations").acquire("m.tar.gz")
    assert refused.value.fields == {"ErrorCode": "TARGET_MODEL_HEADER_NOT_SUPPORTED"}
