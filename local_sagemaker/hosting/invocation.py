"""One invocation: a request that is streamed to a container, and the answer streamed back."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.connections import Connection
from local_sagemaker.hosting.container_response import (
    MAX_BODY_BYTES,
    ContainerResponse,
    model_error,
    refuse_large_response,
)

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

DISCARD_SECONDS = 30
"""For which a body is read on that nobody needs any more. A connection that is closed with bytes
unread is reset, and the client, which sends before it reads, never sees the answer (RFC 9112, 9.6,
"the TCP reset problem"); the number is ours."""

_PASSED_ON = frozenset(
    (
        b"accept",
        b"content-type",
        b"x-amzn-sagemaker-custom-attributes",
        b"x-amzn-sagemaker-inference-id",
        b"x-amzn-sagemaker-target-model",
    )
)
"""Headers that reach the container. Source: InvokeEndpoint's API reference, "strips all POST
headers except those supported by the API"; that the inference id is among them has no source."""

_RETURNED = (b"content-type", b"content-length", b"x-amzn-sagemaker-custom-attributes")


class ClientGoneError(Exception):
    """The client has left before all of its request was there."""


class Invocation:
    """A request as ASGI gives it: `headers` by their names in lower case.

    `answer_headers` are sent with an answer of the container, and with no error.

    `model_seconds` are those that the container took, `loading_seconds` those that the call waited
    for its model; `model_was_loaded` says of a multi-model container whether it had to wait.
    """

    most_seconds: float | None = None
    """How long the container may take, where it is not the time of InvokeEndpoint."""

    def __init__(self, headers: Mapping[bytes, bytes], receive: Receive, send: Send) -> None:
        self._headers, self._receive, self._send = headers, receive, send
        self.unread = True  # whether more of the body may come
        self._first, self._size = b"", 0
        self.answer_headers: list[tuple[bytes, bytes]] = []
        self.answering = False  # from when on it is too late for an error
        self.model_seconds: float | None = None
        self.loading_seconds: float | None = None
        self.model_was_loaded: bool | None = None

    @property
    def target_model(self) -> str | None:
        """The header TargetModel."""
        return self._text(b"x-amzn-sagemaker-target-model")

    @property
    def target_variant(self) -> str | None:
        """The header TargetVariant."""
        return self._text(b"x-amzn-sagemaker-target-variant")

    @property
    def inference_id(self) -> str | None:
        """The header InferenceId."""
        return self._text(b"x-amzn-sagemaker-inference-id")

    @property
    def content_type(self) -> str:
        """The request's ContentType, or nothing."""
        return self._text(b"content-type") or ""

    async def receive(self) -> None:
        """Receive the body's first part, and learn its size; one without a size is read whole.

        Raises `ApiError` for a body that is too large, and `ClientGoneError`.
        """
        declared = self._headers.get(b"content-length")
        if declared is not None:
            self._size = int(declared)
            _refuse_too_large(self._size)
            self._first = await self.receive_part()
            return
        body = bytearray()
        while self.unread:
            body += await self.receive_part()
            _refuse_too_large(len(body))
        self._first, self._size = bytes(body), len(body)

    async def forward(self, connection: Connection, path: str) -> bool:
        """Send the request to the container, and its answer to the client.

        Returns whether all that was sent and answered has gone through the connection, which then
        serves the next request. Raises `ApiError` for an answer that is no success,
        `ClientGoneError`, and `OSError` or `EOFError` when the container breaks off.
        """
        passed_on = (item for item in self._headers.items() if item[0] in _PASSED_ON)
        headers = b"".join(b"%b: %b\r\n" % item for item in passed_on)
        head = b"POST %b HTTP/1.1\r\nHost: localhost\r\n%bContent-Length: %d\r\n\r\n"
        connection.writer.write(head % (path.encode(), headers, self._size) + self._first)
        response = ContainerResponse(connection)
        await self._upload_rest(connection, response)
        length = response.headers.get(b"content-length")
        if length:
            refuse_large_response(int(length))
        if response.status != 200:
            parts = [part async for part, _ in response.body()]
            raise model_error(response.status, b"".join(parts))
        kept = [(name, response.headers[name]) for name in _RETURNED if name in response.headers]
        await self.begin_answer(kept + self.answer_headers)
        async for part, more in response.body():
            await self.send_part(part, more=more)
        return not self.unread and response.keeps_connection

    async def receive_part(self) -> bytes:
        """Return the next part of the body. Raises `ClientGoneError`."""
        message = await self._receive()
        if message["type"] != "http.request":
            raise ClientGoneError
        self.unread = message.get("more_body", False)
        return bytes(message.get("body", b""))

    async def discard_rest(self) -> None:
        """Receive what is left of the body, for `DISCARD_SECONDS` at most."""
        with suppress(ClientGoneError, TimeoutError):
            async with asyncio.timeout(DISCARD_SECONDS):
                while self.unread:
                    await self.receive_part()

    async def begin_answer(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Begin the answer of a success."""
        self.answering = True
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    async def send_part(self, part: bytes, *, more: bool) -> None:
        """Send a part of the answer, as fast as the client takes it."""
        await self._send({"type": "http.response.body", "body": part, "more_body": more})

    async def break_off(self, error: ApiError) -> None:
        """Leave an answer that has begun without its end, as the container did."""

    async def _upload_rest(self, connection: Connection, response: ContainerResponse) -> None:
        """Send the body no faster than the container takes it, and until it answers at most."""
        if not self.unread:
            return await response.read_head()

        async def upload() -> None:
            with suppress(OSError):  # a container that does not read on may have answered
                while self.unread:
                    await connection.writer.drain()
                    connection.writer.write(await self.receive_part())

        answered = asyncio.ensure_future(response.read_head())
        uploading = asyncio.ensure_future(upload())
        try:
            await asyncio.wait({answered, uploading}, return_when=asyncio.FIRST_COMPLETED)
            if not answered.done():
                uploading.result()  # raises what it failed with
            await answered
        finally:
            answered.cancel()
            uploading.cancel()
            await asyncio.gather(answered, uploading, return_exceptions=True)

    def _text(self, name: bytes) -> str | None:
        value = self._headers.get(name)
        return None if value is None else value.decode("latin-1")


def _refuse_too_large(size: int) -> None:
    if size > MAX_BODY_BYTES:
        raise ApiError(
            "ValidationError",
            f"The body has {size} bytes; at most {MAX_BODY_BYTES} are allowed.",
            status=413,
        )
