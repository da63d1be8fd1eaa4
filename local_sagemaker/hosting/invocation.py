"""One invocation: a request that is streamed to a container, and the answer streamed back."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.connections import PART, Connection
from local_sagemaker.hosting.container import INVOKE_SECONDS

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

MAX_BODY_BYTES = 6_291_456
"""Of a request and of an answer; source: InvokeEndpoint's API reference."""

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

_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]+")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_OF_THIS_MACHINE = re.compile(
    r"(?<![\w/])/(?!opt/ml/)(?:[^/\s\"'\\]+/)*?(?=backends/|python3\.\d+/|site-packages/)"
)
"""Where this machine keeps what a container has elsewhere: backends and Python's packages."""

_RETURNED = (b"content-type", b"content-length", b"x-amzn-sagemaker-custom-attributes")


class ClientGoneError(Exception):
    """The client has left before all of its request was there."""


class Invocation:
    """A request as ASGI gives it: `headers` by their names in lower case.

    `answer_headers` are sent with an answer of the container, and with no error.

    `model_seconds` are those that the container took, `loading_seconds` those that the call waited
    for its model; `model_was_loaded` says of a multi-model container whether it had to wait.
    """

    most_seconds = float(INVOKE_SECONDS)  # that the container may take

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

    async def begin(self) -> None:
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
        kept = b"".join(b"%b: %b\r\n" % it for it in self._headers.items() if it[0] in _PASSED_ON)
        head = b"POST %b HTTP/1.1\r\nHost: localhost\r\n%bContent-Length: %d\r\n\r\n"
        connection.writer.write(head % (path.encode(), kept, self._size) + self._first)
        status, headers = await self._upload_rest(connection)
        if b"content-length" in headers:
            _refuse_large_answer(int(headers[b"content-length"]))
        if status != 200:
            raise model_error(status, b"".join([it async for it in _body(connection, headers)]))
        found = [(name, headers[name]) for name in _RETURNED if name in headers]
        if any(_CONTROL.search(value) for _, value in found):
            raise _not_understood(ValueError("a header has a control character"))
        await self.begin_answer(found + self.answer_headers)
        async for part in _body(connection, headers):
            await self.send_part(part, more=True)
        await self.send_part(b"", more=False)
        return not self.unread and headers.get(b"connection", b"").lower() != b"close"

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

    async def _upload_rest(self, connection: Connection) -> "_Head":
        """Send the body no faster than the container takes it, and until it answers at most."""
        if not self.unread:
            return await _answer_head(connection)

        async def upload() -> None:
            with suppress(OSError):  # a container that does not read on may have answered
                while self.unread:
                    await connection.writer.drain()
                    connection.writer.write(await self.receive_part())

        answered = asyncio.ensure_future(_answer_head(connection))
        uploading = asyncio.ensure_future(upload())
        try:
            await asyncio.wait({answered, uploading}, return_when=asyncio.FIRST_COMPLETED)
            if not answered.done():
                uploading.result()  # raises what it failed with
            return await answered
        finally:
            answered.cancel()
            uploading.cancel()
            await asyncio.gather(answered, uploading, return_exceptions=True)

    def _text(self, name: bytes) -> str | None:
        value = self._headers.get(name)
        return None if value is None else value.decode("latin-1")


def model_error(status: int, body: bytes) -> ApiError:
    """Return the error with which InvokeEndpoint passes on a container's refusal.

    Without the folders of this machine, which a Python model's traceback names.
    """
    message = _OF_THIS_MACHINE.sub("", body.decode(errors="replace"))
    kind = "client" if 400 <= status < 500 else "server"  # 0 is what never came
    return ApiError(
        "ModelError",
        f'Received {kind} error ({status}) from primary with message "{message}"',
        status=424,
        OriginalStatusCode=status,
        OriginalMessage=message,
    )


_Head = tuple[int, dict[bytes, bytes]]
"""An answer's status, and its headers by their names in lower case; a length is a number."""


async def _answer_head(connection: Connection) -> _Head:
    try:
        first, *lines = (await connection.reader.readuntil(b"\r\n\r\n"))[:-4].split(b"\r\n")
        split = (line.partition(b":") for line in lines)
        headers = {name.lower(): it.strip() for name, _, it in split}
        status = int(first.split(b" ")[1])
    except (ValueError, LookupError, asyncio.LimitOverrunError) as error:
        raise _not_understood(error) from None
    if not headers.get(b"content-length", b"0").isdigit():
        raise _not_understood(ValueError(f"its length is {headers[b'content-length']!r}"))
    return status, headers


async def _body(connection: Connection, headers: Mapping[bytes, bytes]) -> AsyncIterator[bytes]:
    """Yield an answer's body in parts. Triton's SageMaker server always says its length."""
    if b"content-length" in headers:
        async for part in _bytes(connection, int(headers[b"content-length"])):
            yield part
        return
    so_far = 0
    while size := await _chunk_size(connection):
        _refuse_large_answer(so_far := so_far + size)
        async for part in _bytes(connection, size):
            yield part
        await connection.reader.readexactly(2)
    await _line(connection)


async def _bytes(connection: Connection, left: int) -> AsyncIterator[bytes]:
    while left:
        part = await connection.reader.read(min(left, PART))
        if not part:
            raise EOFError("the container broke off")
        left -= len(part)
        yield part


async def _chunk_size(connection: Connection) -> int:
    line = await _line(connection)
    if not _CHUNK_SIZE.fullmatch(line):
        raise _not_understood(ValueError(f"a chunk begins with {line[:20]!r}"))
    return int(line, 16)


async def _line(connection: Connection) -> bytes:
    try:
        return (await connection.reader.readuntil(b"\r\n"))[:-2]
    except asyncio.LimitOverrunError as error:
        raise _not_understood(error) from None


def _not_understood(error: Exception) -> ConnectionError:
    return ConnectionError(f"the container's answer is not understood: {error!r}")


def _refuse_large_answer(size: int) -> None:
    if size > MAX_BODY_BYTES:
        message = f"the answer has {size} bytes, more than {MAX_BODY_BYTES}"
        raise model_error(500, message.encode())


def _refuse_too_large(size: int) -> None:
    if size > MAX_BODY_BYTES:
        raise ApiError(
            "ValidationError",
            f"The body has {size} bytes; at most {MAX_BODY_BYTES} are allowed.",
            status=413,
        )
