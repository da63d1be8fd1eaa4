"""Which HTTP requests the local SageMaker answers: those of programs on this machine.

Whoever reaches the local SageMaker can run commands as its user (CodeBuild, Lambda), and nothing
checks a signature. A web page in the user's browser could reach it, because browsers send requests
to any address. So a browser gets the page below `/_local_sagemaker/` and nothing else, and that
only when no other site has caused the request.

Sources: browsers name the page that causes a request in `Origin` (Fetch standard, "Origin header")
and `Sec-Fetch-Site` (W3C, Fetch Metadata Request Headers); scripts cannot set or remove either.
Names below `localhost` are this machine's (RFC 6761, 6.3), so that any other `Host` means a name
that was made to lead here (DNS rebinding). A page can also cause a `GET` that has neither header,
or `Sec-Fetch-Site: none`: for the issuer of a certificate (RFC 5280, 4.2.2.1), or by speculation
rules. So a `GET` acts on nothing.
"""

import re
from typing import Any
from urllib.parse import parse_qs

from local_sagemaker.api import send_answer
from local_sagemaker.hosting.invocation import Receive, Send
from local_sagemaker.watch import site

_LOOPBACK = re.compile(
    rb"(([a-z0-9_-]+\.)*localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?", re.IGNORECASE
)
"""A `Host`: also a bucket's, which may have dots (`models.eu.s3.localhost:4566`)."""

_MINISTACK = re.compile(r"/_(ministack|localstack|aws|alb)(/|$)")
"""Paths that ministack keeps for itself. No bucket is hidden by them: its name "must begin and end
with a letter or number" (S3 user guide, general purpose bucket naming rules)."""

_MINISTACK_ANSWERS = re.compile(
    r"GET /_ministack/(health|lambda-(code|layers)/.+)|PUT /_ministack/cfn-(response|signal)/.+"
)
"""What `tritonsm up` and `doctor` ask, where GetFunction and GetLayerVersion say that code can be
downloaded, and where custom resources and wait conditions report to CloudFormation."""

_TEXT = {"Content-Type": "text/plain; charset=utf-8", "x-amzn-ErrorType": "AccessDenied"}
"""Of a rejection: a browser shows it, and an SDK reads the type as the error's code."""


class RequestGuard:
    """An ASGI application that answers 403 where `rejection` has a reason, else `application`.

    `has_page` says whether that answers below `/_local_sagemaker/`.
    """

    def __init__(self, application: Any, *, has_page: bool) -> None:
        self._application, self._has_page = application, has_page

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer one request."""
        is_http = scope["type"] == "http"
        reason = rejection(scope, has_page=self._has_page) if is_http else None
        if reason is not None:
            await send_answer(send, (403, _TEXT, f"{reason}\n".encode()))
        else:
            await self._application(scope, receive, send)


def rejection(scope: Any, *, has_page: bool) -> str | None:
    """Return why a request, as an ASGI scope, is rejected; None if it is answered."""
    hosts, origins, sites = [], [], []
    for name, value in scope["headers"]:
        if name == b"host":
            hosts.append(value)
        elif name == b"origin":
            origins.append(value)
        elif name == b"sec-fetch-site":
            sites.append(value)
    if len(hosts) != 1 or not _LOOPBACK.fullmatch(hosts[0]):
        named = b", ".join(hosts).decode("latin-1")
        return f"Host {named!r} is not this machine: use 127.0.0.1 or a name below localhost."
    method, path = scope["method"], scope["path"]
    if method == "OPTIONS":
        return "OPTIONS is not answered: no web page may call the local SageMaker."
    if not path.startswith("/"):
        return "The request names no path."
    if has_page and site.is_for(scope):
        if any(it != b"http://" + hosts[0] for it in origins):
            return f"Only the local SageMaker's own page may read {path}."
        if any(it not in (b"none", b"same-origin") for it in sites):
            return f"Another site led here: enter the address of {site.PREFIX} yourself."
    elif origins or sites:
        return f"Browsers are answered below {site.PREFIX} only: use the AWS CLI or an SDK."
    elif method in ("GET", "HEAD") and _acts(scope["query_string"]):
        return f"{method} acts on nothing: POST the Action, as the AWS CLI and SDKs do."
    if _MINISTACK.match(path) and not _MINISTACK_ANSWERS.fullmatch(f"{method} {path}"):
        return f"{path} is closed: for an empty local SageMaker, run tritonsm down, tritonsm up."
    return None


def _acts(query: bytes) -> bool:
    """Return whether a query names an operation of AWS's Query protocol."""
    return b"=" in query and "Action" in parse_qs(query.decode("latin-1"), keep_blank_values=True)
