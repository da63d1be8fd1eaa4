"""Everything that ministack answers: requests are handed to it, and its answers back, streamed."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
from yarl import URL

from local_sagemaker.api import error_answer, send_answer
from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.invocation import ClientGoneError, Receive, Send

# Of one connection, not of the request: RFC 9110, 7.6.1. "expect" was answered by our own server.
_HOP_BY_HOP = frozenset(
    (b"connection", b"expect", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade")
)
_NOT_RETURNED = _HOP_BY_HOP | {b"date"}  # our own server adds one, and SDKs refuse two
_ADDED_BY_AIOHTTP = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")


class Ministack:
    """An ASGI application that asks the ministack at `url`; used by one event loop."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session: aiohttp.ClientSession | None = None

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Hand one request over; both bodies flow as fast as the slower side takes them."""
        answering = False
        try:
            async with self._request(scope, receive) as answer:
                kept = [header for header in answer.raw_headers if _is_returned(header[0].lower())]
                start = {"type": "http.response.start", "status": answer.status, "headers": kept}
                answering = True
                await send(start)
                async for part in answer.content.iter_any():
                    await send({"type": "http.response.body", "body": part, "more_body": True})
        except aiohttp.ClientError:  # also where the client has gone, which hears of nothing
            if not answering:  # else the answer would be truncated
                gone = ApiError("ServiceUnavailable", "The emulator has stopped.", status=503)
                await send_answer(send, error_answer(gone))
        else:
            await send({"type": "http.response.body"})

    async def close(self) -> None:
        """Close the connections that are kept."""
        if self._session:
            await self._session.close()

    def _request(self, scope: Any, receive: Receive) -> Any:
        names = {name for name, _ in scope["headers"]}
        has_body = names & {b"content-length", b"transfer-encoding"}
        kept = [header for header in scope["headers"] if header[0] not in _HOP_BY_HOP]
        path = scope["raw_path"].decode() + (f"?{query}" if (query := _query(scope)) else "")
        return self._client().request(
            scope["method"],
            URL(f"{self._url}{path}", encoded=True),
            headers=[(name.decode(), value.decode(errors="replace")) for name, value in kept],
            data=request_body(receive) if has_body else None,
            allow_redirects=False,
            skip_auto_headers=_ADDED_BY_AIOHTTP,
        )

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                auto_decompress=False,
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(),  # of the client alone
                trust_env=False,
            )
        return self._session


def _is_returned(header: bytes) -> bool:
    """Return whether an answer keeps a header; `Access-Control-Allow-Origin: *` is for nobody."""
    return header not in _NOT_RETURNED and not header.startswith(b"access-control-")


def _query(scope: Any) -> str:
    return str(scope["query_string"].decode("latin-1"))


async def request_body(receive: Receive) -> AsyncIterator[bytes]:
    """Yield a request's body in parts. Raises `ClientGoneError`."""
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientGoneError
        yield message.get("body", b"")
        more = message.get("more_body", False)
