import asyncio
import gzip
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from local_sagemaker.api import JsonService
from local_sagemaker.front.application import Application
from local_sagemaker.front.calls import Calls
from local_sagemaker.front.compression import MAX_BYTES
from local_sagemaker.front.http_server import RequestGuard
from local_sagemaker.front.ministack import request_body
from local_sagemaker.tests.conftest import served

TARGET = "CodeBuild_20161006."


class FakeApplication:
    """A fake ASGI application that answers with its name, and headers and body of the request."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b"".join([part async for part in request_body(receive)])
        encoding = [value for name, value in scope["headers"] if name.startswith(b"content-")]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        answer = b" ".join([self.name.encode(), *encoding, body])
        await send({"type": "http.response.body", "body": answer})


class Front:
    """The application with one JSON service and three fake applications."""

    def __init__(self, **operations: Any) -> None:
        runtime: Any = FakeApplication("runtime")
        ministack: Any = FakeApplication("ministack")
        page: Any = FakeApplication("page")

        builds = {"list_builds": lambda _: {"ids": []}, **operations}
        service = JsonService("codebuild", SimpleNamespace(**builds))
        calls = Calls(Path(os.devnull))
        self.changes = 0
        application = Application(
            [service], runtime, ministack, calls, on_change=self._count_change
        )
        self.application = RequestGuard(application, page)

    def _count_change(self) -> None:
        self.changes += 1

    @asynccontextmanager
    async def port(self) -> AsyncIterator[int]:
        async with served(self.application) as port:
            yield port


async def send_request(port: int, request: bytes) -> bytes:
    """Send a request and return the whole response."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    try:
        return await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()


def post(path: str, body: bytes = b"{}", *headers: str, method: str = "POST") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", *headers]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


@pytest.mark.parametrize(
    ("sent", "answers"),
    [
        (post("/endpoints/text/invocations"), b"runtime"),
        (post("/endpoints/text/async-invocations"), b"runtime"),
        (post("/endpoints/text/invocations-response-stream"), b"runtime"),
        (post("/endpoints/text/invocations?a=b", b"", f"X-Amz-Target: {TARGET}X"), b"runtime"),
        (post("/", b"{}", f"X-Amz-Target: {TARGET}ListBuilds"), b'{"ids": []}'),
        (post("/", b"{}", f"x-amz-target: {TARGET}ListBuilds"), b'{"ids": []}'),
        (post("/any", b"", f"X-AMZ-TARGET: {TARGET}ListBuilds"), b'{"ids": []}'),
        (post("/", b"{}", "X-Amz-Target: DynamoDB_20120810.ListTables"), b"ministack"),
        (post("/", b"{}", "X-Amz-Target: ListBuilds"), b"ministack"),
        (post("/", b"{}", "X-Amz-Target: \u00e4.ListBuilds"), b"ministack"),
        (post("/", b"Action=ListStacks"), b"ministack"),
        (post("/_local_sagemaker/state", b"", method="GET"), b"page"),
        (post("/_local_sagemaker/", b"", method="PUT"), b"page"),
        (post("/_local_sagemaker", b"", method="GET"), b"page"),
        (post("/_local_sagemaker2/key", b"", method="GET"), b"ministack"),
        (post("/", b"", f"X-Amz-Target: {TARGET}ListBuilds", method="GET"), b"ministack"),
        (post("/endpoints/text/invocations", b"", method="GET"), b"ministack"),
        (post("/endpoints/text/more", b""), b"ministack"),
        (post("/endpoints/a%2Fb/invocations", b""), b"ministack"),
        (post("/bucket/endpoints/text/invocations", b""), b"ministack"),
    ],
)
async def test_routing_by_path_and_target(sent: bytes, answers: bytes) -> None:
    async with Front().port() as port:
        assert answers in await send_request(port, sent)


@pytest.mark.parametrize(
    ("target", "body", "answers"),
    [
        (f"{TARGET}ListBuilds", gzip.compress(b"{}"), b'{"ids": []}'),
        ("GraniteServiceVersion20100801.PutMetricData", gzip.compress(b"{}"), b"ministack 2 {}"),
        (f"{TARGET}ListBuilds", gzip.compress(b"{}")[:-1], b"SerializationException"),
        (f"{TARGET}ListBuilds", b"{}", b"SerializationException"),
        (f"{TARGET}ListBuilds", gzip.compress(b"") + gzip.compress(b"{}"), b"one whole member"),
        (f"{TARGET}ListBuilds", gzip.compress(bytes(MAX_BYTES + 1)), b"RequestEntityTooLarge"),
    ],
    ids=["own service", "ministack", "cut", "not compressed", "members", "bomb"],
)
async def test_compressed_operation_is_read_and_forwarded_as_plain_text(
    target: str, body: bytes, answers: bytes
) -> None:
    sent = post("/", body, f"X-Amz-Target: {target}", "Content-Encoding: gzip")
    async with Front().port() as port:
        assert answers in await send_request(port, sent)


async def test_compressed_object_and_invocation_stay_compressed() -> None:
    body = gzip.compress(b"{}")
    async with Front().port() as port:
        for path in ("/bucket/key", "/endpoints/text/invocations"):
            answer = await send_request(port, post(path, body, "Content-Encoding: gzip"))
            assert b" gzip %d " % len(body) + body in answer


async def test_changes_in_ministack_are_reported() -> None:
    front = Front()
    async with front.port() as port:
        await send_request(port, post("/bucket", method="GET"))
        await send_request(port, post("/", b"{}", f"X-Amz-Target: {TARGET}ListBuilds"))
        assert front.changes == 0
        await send_request(port, post("/bucket", method="PUT"))
        assert front.changes == 1


async def test_operations_run_concurrently() -> None:
    meet = threading.Barrier(2)  # both operations must run at the same time
    front = Front(list_builds=lambda _: {"ids": [str(meet.wait())]})
    sent = post("/", b"{}", f"X-Amz-Target: {TARGET}ListBuilds")
    async with front.port() as port:
        answers = await asyncio.gather(send_request(port, sent), send_request(port, sent))
    bodies = sorted(answer.partition(b"\r\n\r\n")[2] for answer in answers)
    assert bodies == [b'{"ids": ["0"]}', b'{"ids": ["1"]}']


async def test_incomplete_request_runs_no_operation() -> None:
    def unreachable(_: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError("the client has gone")

    messages = [
        {"type": "http.request", "body": b'{"sortOrder": "ASCENDING"}', "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent: list[Any] = []

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"x-amz-target", f"{TARGET}ListBuilds".encode())]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": headers}
    await Front(list_builds=unreachable).application(scope, receive, send)
    assert sent == []
