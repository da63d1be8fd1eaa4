from typing import Any

import pytest

from local_sagemaker.front.http_server import RequestGuard, rejection
from local_sagemaker.tests.conftest import client, served
from local_sagemaker.watch.web_app import PREFIX

LOCAL = (b"host", b"127.0.0.1:4566")


def scope(
    *headers: tuple[bytes, bytes], path: str = "/", method: str = "POST", query: bytes = b""
) -> dict[str, Any]:
    request = {"type": "http", "method": method, "path": path, "query_string": query}
    return {**request, "headers": list(headers)}


def rejection_message(scope: dict[str, Any]) -> str | None:
    return rejection(scope, is_page=f"{scope['path']}/".startswith(PREFIX))


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:4566", "127.0.0.1", "127.3.2.1:1", "[::1]:80", "models.localhost:4566",
     "models.eu-west-1.s3.localhost", "my_models.s3.us-east-1.localhost:4566"],
)  # fmt: skip
def test_local_host_is_accepted(host: str) -> None:
    assert rejection_message(scope((b"host", host.encode()))) is None


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "evil.example:4566", "localhost.evil.example", "127.0.0.1.evil.example",
     "evillocalhost", "evil.example#.localhost", "evil.example/.localhost", "a@localhost",
     "10.0.0.1",
     "0.0.0.0:4566", "[::ffff:127.0.0.1]", ".localhost", "localhost:", "localhost:x", "localhost\n",
     " localhost", "s3.amazonaws.com"],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/", "/_local_sagemaker/state", "/endpoints/text/invocations"])
def test_other_host_is_rejected(host: str, path: str) -> None:
    reason = rejection_message(scope((b"host", host.encode()), path=path))
    assert reason == f"Host {host!r} is not this machine: use 127.0.0.1 or a name below localhost."


@pytest.mark.parametrize(
    "headers", [(), (LOCAL, (b"host", b"evil.example")), ((b"host", b"a.localhost"), LOCAL)]
)
def test_exactly_one_host_header_is_required(headers: tuple[tuple[bytes, bytes], ...]) -> None:
    assert "is not this machine" in (rejection_message(scope(*headers)) or "")


@pytest.mark.parametrize(
    "path", ["/_local_sagemaker", "/_local_sagemaker/", "/_local_sagemaker/state"]
)
@pytest.mark.parametrize(
    ("headers", "is_accepted"),
    [
        ([], True),
        ([(b"sec-fetch-site", b"none")], True),
        ([(b"sec-fetch-site", b"same-origin")], True),
        ([(b"origin", b"http://127.0.0.1:4566")], True),
        ([(b"sec-fetch-site", b"same-site")], False),
        ([(b"sec-fetch-site", b"cross-site")], False),
        ([(b"sec-fetch-site", b"none"), (b"sec-fetch-site", b"cross-site")], False),
        ([(b"origin", b"http://127.0.0.1:3000")], False),
        ([(b"origin", b"https://127.0.0.1:4566")], False),
        ([(b"origin", b"http://localhost:4566")], False),
        ([(b"origin", b"http://127.0.0.1:4566"), (b"origin", b"null")], False),
    ],
)
def test_dashboard_rejects_other_origins(
    path: str, headers: list[tuple[bytes, bytes]], is_accepted: bool
) -> None:
    assert (
        rejection_message(scope(LOCAL, *headers, path=path, method="GET")) is None
    ) is is_accepted


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("path", ["/", "/bucket/key", "/_local_sagemaker/", "/_local_sagemaker"])
@pytest.mark.parametrize("query", [b"Action=CreateStack", b"a=b&%41ction=", b"Action=A&Action=B"])
def test_operation_in_a_get_query_is_rejected(method: str, path: str, query: bytes) -> None:
    request = scope(LOCAL, path=path, method=method, query=query)
    assert "must not call operations" in (rejection(request, is_page=False) or "")


@pytest.mark.parametrize("query", [b"", b"list-type=2&prefix=Action", b"uploads", b"x=Action=A"])
def test_other_get_queries_are_accepted(query: bytes) -> None:
    assert rejection_message(scope(LOCAL, path="/bucket", method="GET", query=query)) is None


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_request_without_a_path_is_rejected(method: str) -> None:
    async def unreachable(*_: Any) -> None:
        raise AssertionError("the request must not be forwarded")

    async with (
        served(RequestGuard(unreachable, unreachable)) as port,
        client(port) as (reader, writer),
    ):
        writer.write(f"{method} * HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert (await reader.readuntil(b"\r\n")) == b"HTTP/1.1 403 Forbidden\r\n"
