"""A container's HTTP response, parsed by httptools as it arrives."""

import re
from collections import deque
from collections.abc import AsyncIterator

from httptools import HttpParserError, HttpResponseParser

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.connections import PART, Connection

MAX_BODY_BYTES = 6_291_456
"""Of a request and of a response; source: InvokeEndpoint's API reference."""


_OF_THIS_MACHINE = re.compile(
    r"(?<![\w/])/(?!opt/ml/)(?:[^/\s\"'\\]+/)*?(?=backends/|python3\.\d+/|site-packages/)"
)
"""Where this machine keeps what a container has elsewhere: backends and Python's packages."""


class ContainerResponse:
    """The next response on a connection; `headers` have names in lower case.

    Methods raise `ConnectionError` or `EOFError` where the container breaks off.
    """

    def __init__(self, connection: Connection) -> None:
        self._reader, self._parser = connection.reader, HttpResponseParser(self)
        self.headers: dict[bytes, bytes] = {}
        self._parts: deque[bytes] = deque()
        self.status, self.keeps_connection = 0, False
        self._in_body = self._complete = False

    async def read_head(self) -> None:
        """Read the status and the headers."""
        for _ in range(PART):
            if self._in_body:
                return
            if await self._read() >= PART and not self._in_body:
                break
        raise ConnectionError("the container's answer is not understood: its head has no end")

    async def body(self) -> AsyncIterator[tuple[bytes, bool]]:
        """Yield the parts, each with whether more follow. Raise `ApiError` for a larger body."""
        size = 0
        while True:
            while not self._parts and not self._complete:
                await self._read()
            part = self._parts.popleft() if self._parts else b""
            refuse_large_response(size := size + len(part))
            more = bool(self._parts) or not self._complete
            yield part, more
            if not more:
                return

    async def _read(self) -> int:
        """Read once; return how many bytes have arrived."""
        data = await self._reader.read(PART)
        if not data:
            raise EOFError("the container broke off")
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            message = f"the container's answer is not understood: {error!r}"
            raise ConnectionError(message) from None
        return len(data)

    # Called by the parser

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header."""
        self.headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """Note that the body begins."""
        self.status = self._parser.get_status_code()
        self.keeps_connection = self._parser.should_keep_alive()
        self._in_body = True

    def on_body(self, part: bytes) -> None:
        """Keep a part."""
        self._parts.append(part)

    def on_message_complete(self) -> None:
        """Note that nothing follows."""
        self._complete = True


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


def refuse_large_response(size: int) -> None:
    """Raise `ApiError` for a response of more bytes than InvokeEndpoint returns."""
    if size > MAX_BODY_BYTES:
        message = f"the answer has {size} bytes, more than {MAX_BODY_BYTES}"
        raise model_error(500, message.encode())
