"""What the tests of the local AWS share: a bucket, a way to wait, and SDK clients for handlers."""

import asyncio
import hashlib
import io
import os
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar

import boto3
import botocore.session
import pytest
from boto3.exceptions import S3UploadFailedError
from botocore.config import Config
from botocore.exceptions import ClientError

PATIENCE = 3600.0
"""Seconds for what must be given a time: more than a busy machine takes."""

BOTOCORE = botocore.session.get_session()
"""Keeps the services' models, which take up to 0.1 s to read."""

T = TypeVar("T")
Handler = Callable[..., Coroutine[Any, Any, tuple[int, dict[str, str], bytes]]]
ClientFor = Callable[[str, Handler], Any]


def eventually(condition: Callable[[], T]) -> T:
    """Return what `condition` gives once that is true, however long a busy machine takes.

    For what tells nobody that it happened, such as a file of another process; pytest ends a test
    that waits for ever.
    """
    while not (value := condition()):
        time.sleep(0.005)
    return value


def runs(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.fixture(autouse=True)
def _models_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(botocore.session, "get_session", lambda: BOTOCORE)


@pytest.fixture
def something_typed() -> Iterator[None]:
    """A line on this process' standard input, where pytest has none."""
    saved = os.dup(0)
    reading, writing = os.pipe()
    os.write(writing, b"typed\n")
    os.dup2(reading, 0)
    os.close(reading)
    os.close(writing)
    yield
    os.dup2(saved, 0)
    os.close(saved)


class FakeS3:
    """Objects by bucket and key; keeps what was asked for, and with what files were uploaded."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], bytes] = {}
        self.asked: list[tuple[str, str]] = []
        self.uploaded: dict[str, dict[str, Any]] = {}

    def get_object(self, *, Bucket: str, Key: str, IfNoneMatch: str = "") -> dict[str, Any]:  # noqa: N803
        self.asked.append((Bucket, Key))
        if (Bucket, Key) not in self.objects:
            raise ClientError(
                {"Error": {"Code": "NoSuchKey", "Message": "No such key."}}, "GetObject"
            )
        content = self.objects[Bucket, Key]
        etag = f'"{hashlib.md5(content).hexdigest()}"'
        if etag == IfNoneMatch:
            raise ClientError({"Error": {"Code": "304", "Message": "Not Modified"}}, "GetObject")
        return {"Body": io.BytesIO(content), "ETag": etag}

    def head_object(self, *, Bucket: str, Key: str) -> None:  # noqa: N803
        if (Bucket, Key) not in self.objects:
            raise ClientError({"Error": {"Code": "404", "Message": "Not Found"}}, "HeadObject")

    def head_bucket(self, *, Bucket: str) -> None:  # noqa: N803
        if Bucket not in {bucket for bucket, _ in self.objects}:
            raise ClientError({"Error": {"Code": "404", "Message": "Not Found"}}, "HeadBucket")

    def get_paginator(self, operation: str) -> "FakeS3":
        assert operation == "list_objects_v2"
        return self

    def paginate(self, *, Bucket: str, Prefix: str) -> list[dict[str, Any]]:  # noqa: N803
        """Return an object a page, and a page without any, as S3 may."""
        keys = [key for bucket, key in self.objects if bucket == Bucket and key.startswith(Prefix)]
        return [{}, *({"Contents": [{"Key": key}]} for key in keys)]

    def upload_file(self, file: str, bucket: str, key: str, **more: Any) -> None:
        if bucket == "none":
            raise S3UploadFailedError("no such bucket")
        self.objects[bucket, key] = Path(file).read_bytes()
        self.uploaded[key] = more["ExtraArgs"]


@pytest.fixture
def s3() -> Any:
    """An S3 client with `objects` to fill."""
    return FakeS3()


@pytest.fixture
def client_for() -> Iterator[ClientFor]:
    """Make boto3 clients whose requests a handler answers, over HTTP on loopback."""
    with ExitStack() as stack:

        def make(service: str, handler: Handler) -> Any:
            client = _client(service, stack.enter_context(_Served(handler)).url)
            stack.callback(client.close)
            return client

        yield make


class _Served:
    """An HTTP server for one of the local AWS's handlers."""

    def __init__(self, handler: Handler) -> None:
        class Request(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status, headers, answer = asyncio.run(
                    handler("POST", self.path, dict(self.headers), body, {})
                )
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(answer))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Request)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "_Served":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _client(service: Any, url: str) -> Any:
    return boto3.client(
        service,
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(proxies={}, retries={"total_max_attempts": 1}),
    )
