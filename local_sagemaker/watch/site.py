"""What answers below `/_local_sagemaker/`: the state, and the page that shows it.

It hides no bucket: the name of one "must begin and end with a letter or number" (S3 user guide,
"General purpose bucket naming rules"). Where the `Host` names a bucket, it hides the keys that
begin with `_local_sagemaker/`. Which requests a browser may make is up to `front.request_guard`.
"""

import asyncio
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from local_sagemaker.hosting.invocation import Receive, Send
from local_sagemaker.watch.schema import State

PREFIX = "/_local_sagemaker/"

PAGE = Path(__file__).parent / "page"
FILES = {
    "": PAGE / "index.html",
    **{it.name: it for it in sorted(PAGE.iterdir()) if it.suffix in (".css", ".js", ".svg")},
    "uplot.js": PAGE / "uplot" / "uPlot.esm.js",
    "uplot.css": PAGE / "uplot" / "uPlot.min.css",
}
"""Files by the path below the prefix. uPlot 1.6.32 (MIT), as npm has it, draws the charts."""

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_NUMBER = re.compile(r"\d{1,15}")

_SECURITY = {
    "content-security-policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}


def is_for(scope: Any) -> bool:
    """Return whether a request is answered by the site."""
    return f"{scope['path']}/".startswith(PREFIX)


class Site:
    """An ASGI application for requests that `is_for` it; `state` gives what there is."""

    def __init__(self, state: Callable[..., State], files: Mapping[str, Path] = FILES) -> None:
        self._state, self._files = state, files

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        status, more, body = await self._answer(scope, headers)
        named = {**_SECURITY, **more, "content-length": str(len(body))}
        encoded = [(name.encode(), value.encode()) for name, value in named.items()]
        await send({"type": "http.response.start", "status": status, "headers": encoded})
        sent = b"" if scope["method"] == "HEAD" or status == 304 else body
        await send({"type": "http.response.body", "body": sent})

    async def _answer(
        self, scope: Any, headers: Mapping[bytes, str]
    ) -> tuple[int, dict[str, str], bytes]:
        if scope["method"] not in ("GET", "HEAD"):
            status, more, body = _text(405, "Nothing can be changed here: GET and HEAD only.")
            return status, {**more, "allow": "GET, HEAD"}, body
        if scope["path"] == PREFIX.rstrip("/"):
            status, more, body = _text(308, f"The page is at {PREFIX}.")
            return status, {**more, "location": PREFIX}, body
        name = scope["path"].removeprefix(PREFIX)
        if name == "state":
            return await self._told(scope["query_string"].decode("latin-1"))
        if name not in self._files:
            return _text(404, f"There is no {scope['path']}; the page is at {PREFIX}.")
        return _file(self._files[name], headers.get(b"if-none-match"))

    async def _told(self, query: str) -> tuple[int, dict[str, str], bytes]:
        asked = {}
        for name, values in parse_qs(query, keep_blank_values=True).items():
            if name not in ("after", "since") or not _NUMBER.fullmatch(values[-1]):
                return _text(400, "Ask for ?after=SEQUENCE&since=SECOND, both whole numbers.")
            asked[name] = int(values[-1])
        state = await asyncio.to_thread(self._state, **asked)
        body = json.dumps(state, separators=(",", ":")).encode()
        return 200, {"content-type": "application/json", "cache-control": "no-store"}, body


def _text(status: int, message: str) -> tuple[int, dict[str, str], bytes]:
    headers = {"content-type": "text/plain; charset=utf-8", "cache-control": "no-store"}
    return status, headers, f"{message}\n".encode()


def _file(path: Path, known: str | None) -> tuple[int, dict[str, str], bytes]:
    try:
        tag, body = _read(path, path.stat().st_mtime_ns)
    except FileNotFoundError:
        return _text(404, f"{path.name} is not installed: run make install.")
    headers = {"content-type": _TYPES[path.suffix], "cache-control": "no-cache", "etag": tag}
    return (304 if known == tag else 200), headers, body


@cache
def _read(path: Path, _: int) -> tuple[str, bytes]:
    """Return a file with its ETag; it is read again when it has changed."""
    body = path.read_bytes()
    return f'"{hashlib.sha256(body).hexdigest()[:16]}"', body
