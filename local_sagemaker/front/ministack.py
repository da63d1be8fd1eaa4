"""A streaming reverse proxy to ministack."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
from yarl import URL

from local_sagemaker.api import send_response
from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.invocation import ClientDisconnectedError, Receive, Send
from local_sagemaker.validation.documented import correct_texts, error_texts
from local_sagemaker.validation.protocols import error_response, signed_service

# Hop-by-hop headers (RFC 9110, 7.6.1), and "expect", which uvicorn handles.
_HOP_BY_HOP = frozenset(
    (b"connection", b"expect", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade")
)
_DROPPED_FROM_RESPONSE = _HOP_BY_HOP | {b"date"}  # uvicorn adds a date, and SDKs reject two
_ADDED_BY_AIOHTTP = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")


class Ministack:
    """An ASGI application that forwards requests to `url`; used by one event loop."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session: aiohttp.ClientSession | None = None

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Forward one request; both bodies are streamed with backpressure."""
        response_started = False
        service = signed_service(
            dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
        )
        try:
            async with self._request(scope, receive) as response:
                headers = [item for item in response.raw_headers if _is_forwarded(item[0].lower())]
                start = {
                    "type": "http.response.start",
                    "status": response.status,
                    "headers": headers,
                }
                response_started = True
                is_text = response.content_type != "application/cbor"  # which has lengths
                if not response.ok and is_text and service in error_texts():
                    body = correct_texts(service, await response.read())
                    start["headers"] = [
                        *(item for item in headers if item[0].lower() != b"content-length"),
                        (b"content-length", str(len(body)).encode()),
                    ]
                    await send(start)
                    return await send({"type": "http.response.body", "body": body})
                await send(start)
                async for part in response.content.iter_any():
                    await send({"type": "http.response.body", "body": part, "more_body": True})
        except aiohttp.ClientError:  # ministack or the client has disconnected
            if not response_started:  # otherwise the response is truncated
                error = ApiError("ServiceUnavailable", "The emulator has stopped.", status=503)
                await send_response(send, error_response(error))
        else:
            await send({"type": "http.response.body"})

    async def close(self) -> None:
        """Close the idle connections."""
        if self._session:
            await self._session.close()

    def _request(self, scope: Any, receive: Receive) -> Any:
        names = {name for name, _ in scope["headers"]}
        has_body = names & {b"content-length", b"transfer-encoding"}
        headers = [
            (name.decode(), value.decode(errors="replace"))
            for name, value in scope["headers"]
            if name not in _HOP_BY_HOP
        ]
        path = scope["raw_path"].decode() + (f"?{query}" if (query := _query(scope)) else "")
        return self._client().request(
            scope["method"],
            URL(f"{self._url}{path}", encoded=True),
            headers=headers,
            data=request_body(receive) if has_body else None,
            allow_redirects=False,
            skip_auto_headers=_ADDED_BY_AIOHTTP,
        )

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                auto_decompress=False,
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(),  # no timeout: the client has its own
                trust_env=False,
            )
        return self._session


def _is_forwarded(header: bytes) -> bool:
    """Return whether a response header is forwarded; CORS headers are not."""
    return header not in _DROPPED_FROM_RESPONSE and not header.startswith(b"access-control-")


def _query(scope: Any) -> str:
    return str(scope["query_string"].decode("latin-1"))


async def request_body(receive: Receive) -> AsyncIterator[bytes]:
    """Yield a request's body in parts. Raise `ClientDisconnectedError`."""
    has_more = True
    while has_more:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnectedError
        yield message.get("body", b"")
        has_more = message.get("more_body", False)
