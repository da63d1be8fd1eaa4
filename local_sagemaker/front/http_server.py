"""The HTTP server for programs of this user: uvicorn with a guard against others.

A client of the local SageMaker can run commands as its user (CodeBuild, Lambda), and signatures are
not verified. Therefore connections of other users of this machine are refused. A web page in the
user's browser could send requests too, because browsers connect to any address. Therefore browsers
only get the dashboard below `PREFIX`, and only if no other site caused the request.

Sources: browsers send the origin of the requesting page in `Origin` (Fetch standard, "Origin
header") and `Sec-Fetch-Site` (W3C, Fetch Metadata Request Headers); scripts cannot change either.
Names below `localhost` are loopback (RFC 6761, 6.3); any other `Host` indicates DNS rebinding. A
page can also cause a `GET` with neither header, or with `Sec-Fetch-Site: none`: for the issuer of a
certificate (RFC 5280, 4.2.2.1), or by speculation rules. Therefore a `GET` has no side effects.
"""

import asyncio
import re
from typing import Any, Literal
from urllib.parse import parse_qs

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from local_sagemaker.api import send_response
from local_sagemaker.front import peers
from local_sagemaker.hosting.invocation import Receive, Send
from local_sagemaker.watch.web_app import PREFIX

_LOOPBACK = re.compile(
    rb"(([a-z0-9_-]+\.)*localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?", re.IGNORECASE
)
"""Allowed `Host` headers, including buckets with dots (`models.eu.s3.localhost:4566`)."""

_MINISTACK_PATHS = re.compile(r"/_(ministack|localstack|aws|alb)(/|$)")
"""Paths of ministack's own routes. They conflict with no bucket: a bucket name "must begin and end
with a letter or number" (S3 user guide, general purpose bucket naming rules)."""

_ALLOWED_REQUESTS = re.compile(
    r"GET /_ministack/(health|lambda-(code|layers)/.+)|PUT /_ministack/cfn-(response|signal)/.+"
)
"""Allowed requests of ministack's routes: the health check, downloads of Lambda code and layers,
and responses of custom resources and wait conditions to CloudFormation."""

_ERROR_HEADERS = {"Content-Type": "text/plain; charset=utf-8", "x-amzn-ErrorType": "AccessDenied"}
"""SDKs read the error code from x-amzn-ErrorType."""


class UserProtocol(HttpToolsProtocol):
    """HTTP for this user and root; requests on connections of other users are answered with 403."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Look up the user once for each connection."""
        super().connection_made(transport)
        if not (
            self.client and peers.is_trusted(self.client, transport.get_extra_info("sockname"))
        ):
            self.app = _refuse_user


async def _refuse_user(_scope: Any, _receive: Receive, send: Send) -> None:
    reason = "The local SageMaker runs as another user of this machine: start your own."
    await send_response(send, (403, _ERROR_HEADERS, f"{reason}\n".encode()))


class RequestGuard:
    """An ASGI application that answers 403 to rejected requests, and forwards others.

    `page` answers paths below `PREFIX`, `application` the others.
    """

    def __init__(self, application: Any, page: Any = None) -> None:
        self._application, self._page = application, page

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":  # startup and shutdown
            await self._application(scope, receive, send)
            return
        is_page = self._page is not None and f"{scope['path']}/".startswith(PREFIX)
        if reason := rejection(scope, is_page=is_page):
            await send_response(send, (403, _ERROR_HEADERS, f"{reason}\n".encode()))
        elif is_page:
            await self._page(scope, receive, send)
        else:
            await self._application(scope, receive, send)


def rejection(scope: Any, *, is_page: bool) -> str | None:
    """Return the message for the rejection of a request (an ASGI scope), or None."""
    hosts, origins, sites = [], [], []
    for name, value in scope["headers"]:
        if name == b"host":
            hosts.append(value)
        elif name == b"origin":
            origins.append(value)
        elif name == b"sec-fetch-site":
            sites.append(value)
    if len(hosts) != 1 or not _LOOPBACK.fullmatch(hosts[0]):
        host = b", ".join(hosts).decode("latin-1")
        return f"Host {host!r} is not this machine: use 127.0.0.1 or a name below localhost."
    method, path = scope["method"], scope["path"]
    if method == "OPTIONS":
        return "OPTIONS is not allowed: web pages must not call the local SageMaker."
    if not path.startswith("/"):
        return "The request has no path."
    if is_page:
        if any(origin != b"http://" + hosts[0] for origin in origins):
            return f"Only the local SageMaker's own page may read {path}."
        if any(site not in (b"none", b"same-origin") for site in sites):
            return f"The request is from another site: enter the address of {PREFIX} yourself."
    elif origins or sites:
        return f"Browsers may only request paths below {PREFIX}: use the AWS CLI or an SDK."
    elif method in ("GET", "HEAD") and _has_action(scope["query_string"]):
        return f"{method} must not call operations: POST the Action, as the AWS CLI and SDKs do."
    if _MINISTACK_PATHS.match(path) and not _ALLOWED_REQUESTS.fullmatch(f"{method} {path}"):
        return f"{path} is not available: restart the local SageMaker to delete all resources."
    return None


def _has_action(query: bytes) -> bool:
    """Return whether a query names an operation of AWS's Query protocol."""
    return b"=" in query and "Action" in parse_qs(query.decode("latin-1"), keep_blank_values=True)


def http_server(
    application: Any, *, port: int = 0, keep_alive: int = 75, lifespan: Literal["on", "off"] = "off"
) -> uvicorn.Server:
    """Return an HTTP server on loopback; it closes connections idle for `keep_alive` seconds."""
    return uvicorn.Server(
        uvicorn.Config(
            application,
            host="127.0.0.1",
            port=port,
            http=UserProtocol,
            interface="asgi3",
            lifespan=lifespan,
            ws="none",
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=keep_alive,
            timeout_graceful_shutdown=1,
        )
    )
