"""Forwarding of requests to ministack, which is a fake server here."""

import asyncio
import http.client
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress

import pytest

from local_sagemaker.front.ministack import Ministack
from local_sagemaker.tests.conftest import client, served

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Emulator:
    """A fake ministack that handles requests with `script` and records them."""

    def __init__(self) -> None:
        self.script: Callable[..., Awaitable[None]] = self.answer
        self.sent = OK
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.request(reader)
        writer.write(self.sent)

    async def request(self, reader: asyncio.StreamReader) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head)
        body = b""
        if b"Transfer-Encoding: chunked" in head:
            while size := int(await reader.readuntil(b"\r\n"), 16):
                body += (await reader.readexactly(size + 2))[:-2]
            await reader.readexactly(2)
        elif b"content-length: " in head.lower():
            length = head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]
            body = await reader.readexactly(int(length))
        self.bodies.append(body)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(EOFError, OSError):
            while True:
                await self.script(reader, writer)

    @property
    def requests(self) -> list[tuple[str, list[str]]]:
        """The first line of each request, and its headers with names in lower case."""
        lines = [head.decode().split("\r\n")[:-2] for head in self.heads]
        return [(first, sorted(map(_lower, headers))) for first, *headers in lines]


def _lower(header: str) -> str:
    name, _, value = header.partition(": ")
    return f"{name.lower()}: {value}"


@asynccontextmanager
async def front() -> AsyncIterator[tuple[Emulator, int]]:
    """Serve an application that forwards all requests to a fake ministack."""
    emulator = Emulator()
    server = await asyncio.start_server(emulator.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    ministack = Ministack(url)
    async with served(ministack) as port:
        yield emulator, port
    await ministack.close()
    server.close()
    await server.wait_closed()


async def read_head(reader: asyncio.StreamReader) -> tuple[str, list[str]]:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[:-2]
    return first, sorted(lines)


async def test_request_and_response_are_forwarded_without_cors() -> None:
    async with front() as (emulator, port), client(port) as (reader, writer):
        emulator.sent = (
            b'HTTP/1.1 409 Conflict\r\nETag: "a"\r\nContent-Encoding: gzip\r\nSet-Cookie: a=1\r\n'
            b"Set-Cookie: b=2\r\nAccess-Control-Allow-Origin: *\r\n"
            b"access-control-expose-headers: *\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x00"
        )
        for _ in range(2):  # no cookie is kept
            writer.write(
                b"PUT /b/k HTTP/1.1\r\nHost: b.s3.localhost:4566\r\nX-Amz-Meta-A: \xc3\xa4\r\n"
                b"X-Twice: 1\r\nX-Twice: 2\r\nContent-Length: 4\r\n\r\nbody"
            )
            first, headers = await read_head(reader)
            assert first == "HTTP/1.1 409 Conflict"
            assert headers == [
                "content-encoding: gzip",
                "content-length: 3",
                'etag: "a"',
                "set-cookie: a=1",
                "set-cookie: b=2",
            ]
            assert await reader.readexactly(3) == b"\x1f\x8b\x00"
    expected = [
        "content-length: 4",
        "host: b.s3.localhost:4566",
        "x-amz-meta-a: \N{LATIN SMALL LETTER A WITH DIAERESIS}",
        "x-twice: 1",
        "x-twice: 2",
    ]
    assert emulator.requests == [("PUT /b/k HTTP/1.1", expected)] * 2
    assert emulator.bodies == [b"body"] * 2


@pytest.mark.parametrize(
    "path",
    [
        "/", "/b/a%2Fb//c%20d+e", "/b/../c/./d", "/b/%E4%C3%A4", "//b", "/b/k?uploads",
        "/b?x=%2B&y&z=a%20b+c&x=2", "/b?list-type=2&prefix=a%2Fb", "/b/k?a=b?c=%3Fd",
        "/b/~;=@:,$&'()*",
    ],
)  # fmt: skip
async def test_paths_and_queries_are_unchanged(path: str) -> None:
    async with front() as (emulator, port), client(port) as (reader, writer):
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        await read_head(reader)
    assert emulator.requests == [(f"GET {path} HTTP/1.1", ["host: localhost"])]


async def test_hop_by_hop_headers_are_removed() -> None:
    async with front() as (emulator, port), client(port) as (reader, writer):
        emulator.sent = (
            b"HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"2\r\nok\r\n0\r\n\r\n"
        )
        writer.write(
            b"GET / HTTP/1.1\r\nHost: localhost\r\nTE: trailers\r\nKeep-Alive: timeout=1\r\n"
            b"Trailer: X\r\n\r\n"
        )
        assert (await read_head(reader))[1] == ["transfer-encoding: chunked"]
        assert await reader.readexactly(7) == b"2\r\nok\r\n"
    assert emulator.requests == [("GET / HTTP/1.1", ["host: localhost"])]


async def test_texts_of_an_error_in_cbor_are_unchanged() -> None:
    text = b"Unknown action: PutAnomalyDetector"  # has another length in AWS's words
    async with front() as (emulator, port), client(port) as (reader, writer):
        emulator.sent = (
            b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/cbor\r\n"
            b"Content-Length: %d\r\n\r\n" % len(text) + text
        )
        writer.write(
            b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"
            b"Authorization: Credential=a/20260101/us-east-1/monitoring/aws4_request\r\n\r\n"
        )
        await read_head(reader)
        assert await reader.readexactly(len(text)) == text


async def test_bodies_are_streamed() -> None:
    async with front() as (emulator, port), client(port) as (reader, writer):

        async def script(reader: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            assert await reader.readexactly(8) == b"3\r\nabc\r\n"
            answers.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nan")
            assert await reader.readexactly(13) == b"3\r\ndef\r\n0\r\n\r\n"
            answers.write(b"sw")

        emulator.script = script
        writer.write(b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        writer.write(b"3\r\nabc\r\n")
        await read_head(reader)
        assert await reader.readexactly(2) == b"an"
        writer.write(b"3\r\ndef\r\n0\r\n\r\n")
        assert await reader.readexactly(2) == b"sw"


async def test_expect_100_continue() -> None:
    async with front() as (emulator, port), client(port) as (reader, writer):
        writer.write(
            b"PUT /b/k HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
            b"Content-Length: 4\r\n\r\n"
        )
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"body")
        assert (await read_head(reader))[0] == "HTTP/1.1 200 OK"
    assert (emulator.bodies, b"xpect" in emulator.heads[0]) == ([b"body"], False)


# Errors


def get(port: int) -> tuple[int, bytes]:
    with closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
        connection.request("GET", "/")
        answer = connection.getresponse()
        return answer.status, answer.read()


STOPPED = b'"The emulator has stopped."'


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\nContent-", b"what?\r\n\r\n"])
async def test_invalid_response_is_service_unavailable(
    sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with front() as (emulator, port):

        async def script(reader: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
            await emulator.request(reader)
            answers.write(sent)
            raise EOFError

        emulator.script = script
        status, body = await asyncio.to_thread(get, port)
    assert status == 503
    assert STOPPED in body
    assert caplog.text == ""


async def test_truncated_response_is_truncated_for_the_client(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with front() as (emulator, port):

        async def script(reader: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
            await emulator.request(reader)
            answers.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart")
            raise EOFError

        emulator.script = script
        with pytest.raises(http.client.IncompleteRead) as exc_info:
            await asyncio.to_thread(get, port)
    assert exc_info.value.partial == b"part"
    assert "Traceback" not in caplog.text
