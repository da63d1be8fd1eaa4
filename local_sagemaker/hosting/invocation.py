"""An invocation: request and response are streamed between a client and a container."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from local_sagemaker.errors import ApiError, plain_message
from local_sagemaker.hosting.connections import Connection, Connections, ContainerResponse

if TYPE_CHECKING:
    from local_sagemaker.hosting.instance import Instance, RunningServer

INVOKE_SECONDS = 60
"""Timeout of a container's response; source: InvokeEndpoint's API reference."""

MAX_BODY_BYTES = 6_291_456
"""Maximum size of a request and of a response; source: InvokeEndpoint's API reference."""

TIMEOUT_MESSAGE = (
    b"Your invocation timed out while waiting for a response from container primary. Review the "
    b"latency metrics for each container in Amazon CloudWatch, resolve the issue, and try again."
)
"""Source: RamVegiraju/SageMaker-Deployment#3."""

_LOCAL_PATH_PREFIX = re.compile(
    r"(?<![\w/])/(?!opt/ml/)(?:[^/\s\"'\\]+/)*?(?=backends/|python3\.\d+/|site-packages/)"
)
"""The local part of a path to a backend or a Python package; a container has other paths."""

POLL_SECONDS = 0.05
"""Poll interval while waiting for a healthy server."""

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

DISCARD_SECONDS = 30
"""Maximum time of reading the remaining request body after an error. Closing a connection with
unread bytes resets it; a client that sends its complete request before it reads would never receive
the response (RFC 9112, 9.6, "the TCP reset problem"). The number is our choice."""

_FORWARDED_HEADERS = frozenset(
    (
        b"accept",
        b"content-type",
        b"x-amzn-sagemaker-custom-attributes",
        b"x-amzn-sagemaker-inference-id",
        b"x-amzn-sagemaker-target-model",
    )
)
"""Headers that are forwarded to the container. Source: InvokeEndpoint's API reference, "strips all
POST headers except those supported by the API". The inference id has no source."""

_RETURNED_HEADERS = (b"content-type", b"content-length", b"x-amzn-sagemaker-custom-attributes")


class ClientDisconnectedError(Exception):
    """The client disconnected before its request was complete."""


class Invocation:
    """One invocation over ASGI. Names in `headers` are lower-case.

    `response_headers` are added to a successful response. `model_seconds` is the duration in the
    container, `loading_seconds` the waiting time for the model's load. `model_was_loaded` is
    whether the model was in memory (None for single-model containers). `unread` is whether the
    request body is incomplete. Once `response_started`, an error response cannot be sent.
    """

    timeout_seconds: float | None = None
    """Timeout of the container's response; None for InvokeEndpoint's."""

    def __init__(self, headers: Mapping[bytes, bytes], receive: Receive, send: Send) -> None:
        self._headers, self._receive, self._send = headers, receive, send
        self.unread = True
        self._first_chunk, self._size = b"", 0
        self.response_headers: list[tuple[bytes, bytes]] = []
        self.response_started = False
        self.model_seconds: float | None = None
        self.loading_seconds: float | None = None
        self.model_was_loaded: bool | None = None

    @property
    def target_model(self) -> str | None:
        """The request's TargetModel."""
        return self._header(b"x-amzn-sagemaker-target-model")

    @property
    def target_variant(self) -> str | None:
        """The request's TargetVariant."""
        return self._header(b"x-amzn-sagemaker-target-variant")

    @property
    def inference_component(self) -> str | None:
        """The request's InferenceComponentName."""
        return self._header(b"x-amzn-sagemaker-inference-component")

    @property
    def inference_id(self) -> str | None:
        """The request's InferenceId."""
        return self._header(b"x-amzn-sagemaker-inference-id")

    @property
    def content_type(self) -> str:
        """The request's ContentType, or ""."""
        return self._header(b"content-type") or ""

    async def receive(self) -> None:
        """Receive the first chunk of the body, or the complete body if it has no Content-Length.

        Raise `ApiError` for a body that is too large, and `ClientDisconnectedError`.
        """
        declared = self._headers.get(b"content-length")
        if declared is not None:
            self._size = int(declared)
            _refuse_too_large(self._size)
            self._first_chunk = await self.receive_chunk()
            return
        body = bytearray()
        while self.unread:
            body += await self.receive_chunk()
            _refuse_too_large(len(body))
        self._first_chunk, self._size = bytes(body), len(body)

    async def invoke_instance(self, instance: "Instance") -> None:
        """Wait for the instance's healthy server and the model's load, and invoke the model.

        Raise `ApiError`, also on a timeout, and `ClientDisconnectedError`.
        """
        server = instance.healthy_server or await _wait_for_server(instance)
        call = server.container.acquire(self.target_model)
        try:
            if call.target_model is not None:
                self.model_was_loaded = call.load is None
            if call.load:
                started = time.monotonic()
                try:
                    await _wait_for_load(call.load, call.target_model)
                finally:
                    self.loading_seconds = time.monotonic() - started
            started = time.monotonic()
            try:
                await self._exchange(server.triton.connections, call.path)
            except OSError as error:
                raise _no_response_error(error) from None
            finally:
                self.model_seconds = time.monotonic() - started
        finally:
            server.container.release(call)

    async def _exchange(self, connections: Connections, path: str) -> None:
        connection, is_reusable = None, False
        try:
            async with asyncio.timeout(self.timeout_seconds or INVOKE_SECONDS):
                connection = await connections.take()
                is_reusable = await self.forward(connection, path)
        finally:
            if connection and is_reusable:
                connections.give_back(connection)
            elif connection:
                connection.writer.close()

    async def forward(self, connection: Connection, path: str) -> bool:
        """Send the request to the container, and its response to the client.

        Return whether the connection can be reused. Raise `ApiError` for an error response,
        `ClientDisconnectedError`, and `OSError` if the container disconnects.
        """
        forwarded = (item for item in self._headers.items() if item[0] in _FORWARDED_HEADERS)
        headers = b"".join(b"%b: %b\r\n" % item for item in forwarded)
        head = b"POST %b HTTP/1.1\r\nHost: localhost\r\n%bContent-Length: %d\r\n\r\n"
        connection.writer.write(head % (path.encode(), headers, self._size) + self._first_chunk)
        response = ContainerResponse(connection)
        await self._upload_body(connection, response)
        length = response.headers.get(b"content-length")
        if length:
            _refuse_large_response(int(length))
        if response.status != 200:
            raise model_error(response.status, await response.read_body(MAX_BODY_BYTES))
        returned = [
            (name, response.headers[name]) for name in _RETURNED_HEADERS if name in response.headers
        ]
        await self.start_response(returned + self.response_headers)
        size = 0
        async for chunk, has_more in response.body():
            size += len(chunk)
            _refuse_large_response(size)
            await self.send_chunk(chunk, more=has_more)
        return not self.unread and response.keeps_connection

    async def receive_chunk(self) -> bytes:
        """Return the next chunk of the body. Raise `ClientDisconnectedError`."""
        message = await self._receive()
        if message["type"] != "http.request":
            raise ClientDisconnectedError
        self.unread = message.get("more_body", False)
        return bytes(message.get("body", b""))

    async def discard_rest(self) -> None:
        """Read the remaining request body, for at most `DISCARD_SECONDS`."""
        with suppress(ClientDisconnectedError, TimeoutError):
            async with asyncio.timeout(DISCARD_SECONDS):
                while self.unread:
                    await self.receive_chunk()

    async def start_response(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Start a successful response."""
        self.response_started = True
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    async def send_chunk(self, chunk: bytes, *, more: bool) -> None:
        """Send a chunk of the response; blocks while the client does not read."""
        await self._send({"type": "http.response.body", "body": chunk, "more_body": more})

    async def abort_response(self, error: ApiError) -> None:
        """Do nothing: the started response stays truncated, like the response of the container."""

    async def _upload_body(self, connection: Connection, response: ContainerResponse) -> None:
        """Send the remaining body with backpressure, until the container responds."""
        if not self.unread:
            return await response.read_head()

        async def upload() -> None:
            with suppress(OSError):  # the container may have responded without reading the body
                while self.unread:
                    await connection.writer.drain()
                    connection.writer.write(await self.receive_chunk())

        responding = asyncio.ensure_future(response.read_head())
        uploading = asyncio.ensure_future(upload())
        try:
            await asyncio.wait({responding, uploading}, return_when=asyncio.FIRST_COMPLETED)
            if not responding.done():
                uploading.result()  # raises its exception
            await responding
        finally:
            responding.cancel()
            uploading.cancel()
            await asyncio.gather(responding, uploading, return_exceptions=True)

    def _header(self, name: bytes) -> str | None:
        value = self._headers.get(name)
        return None if value is None else value.decode("latin-1")


def _refuse_too_large(size: int) -> None:
    if size > MAX_BODY_BYTES:
        raise ApiError(
            "ValidationError",
            f"The body has {size} bytes; at most {MAX_BODY_BYTES} are allowed.",
            status=413,
        )


def _refuse_large_response(size: int) -> None:
    if size > MAX_BODY_BYTES:
        message = f"the response has {size} bytes, more than {MAX_BODY_BYTES}"
        raise model_error(500, message.encode())


async def _wait_for_server(instance: "Instance") -> "RunningServer":
    """Wait for the healthy server of an instance, and return it. Raise `ApiError` on a timeout.

    SageMaker responds with 503 (InvokeEndpoint's API reference, ServiceUnavailable); waiting for
    `INVOKE_SECONDS` before that is our choice.
    """
    deadline = time.monotonic() + INVOKE_SECONDS
    while not instance.healthy_server:
        if instance.stopped or time.monotonic() > deadline:
            raise ApiError(
                "ServiceUnavailable",
                f"Variant {instance.variant} has no healthy instance: its container has exited, "
                "and no new one has passed the ping health check. See its log.",
                status=503,
            )
        await asyncio.sleep(POLL_SECONDS)
    return instance.healthy_server


async def _wait_for_load(load: "asyncio.Task[None]", target_model: str | None) -> None:
    done, _ = await asyncio.wait([load], timeout=INVOKE_SECONDS)
    if not done:
        raise ApiError(
            "ModelNotReadyException",
            f"Model {target_model} is not ready for inference: it is still loading. Retry.",
            status=429,
        )
    try:
        load.result()
    except OSError as error:
        raise _no_response_error(error) from None


def _no_response_error(error: OSError) -> ApiError:
    if isinstance(error, TimeoutError):
        return model_error(0, TIMEOUT_MESSAGE)
    reason = plain_message(error) or type(error).__name__
    return ApiError("ModelError", f"The container did not answer: {reason}", status=424)


def model_error(status: int, body: bytes) -> ApiError:
    """Return InvokeEndpoint's error for an error response of the container.

    `status` is 0 if the container did not respond. Local paths are removed from tracebacks.
    """
    message = _LOCAL_PATH_PREFIX.sub("", body.decode(errors="replace"))
    kind = "client" if 400 <= status < 500 else "server"
    return ApiError(
        "ModelError",
        f'Received {kind} error ({status}) from primary with message "{message}"',
        status=424,
        OriginalStatusCode=status,
        OriginalMessage=message,
    )
