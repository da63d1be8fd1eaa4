"""The dashboard below `/_local_sagemaker/`: the state as JSON, and the page.

The path cannot be the path of a bucket: a bucket name "must begin and end with a letter or number"
(S3 user guide, "General purpose bucket naming rules"). With a bucket's name in `Host`, keys that
begin with `_local_sagemaker/` are not reachable. `front.http_server` rejects requests from other
web sites.
"""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from local_sagemaker.hosting.invocation import Receive, Send

PREFIX = "/_local_sagemaker/"

PAGE = Path(__file__).parent / "page"
FILES = {
    "": PAGE / "index.html",
    **{path.name: path for path in sorted(PAGE.glob("*.*"))},
    "uplot.js": PAGE / "uplot" / "uPlot.esm.js",
    "uplot.css": PAGE / "uplot" / "uPlot.min.css",
}
"""Path below the prefix -> file. uPlot 1.6.32 (MIT), unchanged from npm, draws the charts."""

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_TEXT = "text/plain; charset=utf-8"
_NUMBER = re.compile(r"\d{1,15}")

_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}


class DashboardApp:
    """The dashboard as an ASGI application for paths below `PREFIX`.

    `read_state` returns the state; its arguments are the parameters of the query.
    """

    def __init__(self, read_state: Callable[..., dict[str, Any]]) -> None:
        self._read_state = read_state

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Handle one request."""
        status, content_type, body = await self._respond(scope)
        headers = {**_HEADERS, "content-type": content_type, "content-length": str(len(body))}
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": encoded})
        await send({"type": "http.response.body", "body": body})

    async def _respond(self, scope: Any) -> tuple[int, str, bytes]:
        if scope["method"] != "GET":
            return 405, _TEXT, b"The dashboard is read-only: use GET.\n"
        name = scope["path"].removeprefix(PREFIX)
        if name == "state":
            return await self._state_as_json(scope["query_string"].decode("latin-1"))
        if file := FILES.get(name):
            return 200, _TYPES[file.suffix], file.read_bytes()
        return 404, _TEXT, f"There is no {scope['path']}; the page is at {PREFIX}.\n".encode()

    async def _state_as_json(self, query: str) -> tuple[int, str, bytes]:
        numbers = {}
        for name, values in parse_qs(query, keep_blank_values=True).items():
            if name not in ("after", "since") or not _NUMBER.fullmatch(values[-1]):
                message = b"Write ?after=SEQUENCE&since=SECOND, both whole numbers.\n"
                return 400, _TEXT, message
            numbers[name] = int(values[-1])
        state = await asyncio.to_thread(self._read_state, **numbers)
        return 200, "application/json", json.dumps(state, separators=(",", ":")).encode()
