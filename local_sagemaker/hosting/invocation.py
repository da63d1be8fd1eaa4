"""An invocation: request and response are streamed between a client and a container."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.connections import Connection, ContainerResponse

INVOKE_SECONDS = 60
"""Timeout of a container's response; source: InvokeEndpoint's API reference."""

MAX_BODY_BYTES = 6_291_456
"""Maximum size of a request and of a response; source: InvokeEndpoint's API reference."""

_LOCAL_PATH_PREFIX = re.compile(
    r"(?<![\w/])/(?!opt/ml/)(?:[^/\s\"'\\]+/)*?(?=backends/|python3\.\d+/|site-packages/)"
)
"""The local part of a path to a backend or a Python package; a container has other paths."""

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


def model_error(status: int, body: bytes) -> ApiError:
    """Return InvokeEndpoint's error for an error response of the container.

    `status` is 0 if the container did not respond. Local paths are removed from tracebacks. Sources
    of ErrorCode, which botocore's model lacks: opensearch-project/skills, PPLToolTests.java (404);
    aws/sagemaker-tensorflow-serving-container#109 (502).
    """
    message = _LOCAL_PATH_PREFIX.sub("", body.decode(errors="replace"))
    kind, code = "server", "INTERNAL_FAILURE_FROM_MODEL"
    if 400 <= status < 500:
        kind, code = "client", "CLIENT_ERROR_FROM_MODEL"
    return ApiError(
        "ModelError",
        f'Received {kind} error ({status}) from primary with message "{message}"',
        status=424,
        OriginalStatusCode=status,
        OriginalMessage=message,
        ErrorCode=code,
    )
