"""What the tests of the local AWS share: a bucket, a server, and a way to wait."""

import asyncio
import io
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

DEADLINE_SECONDS = 10

Handler = Callable[..., Awaitable[tuple[int, dict[str, str], bytes]]]


class Eventually(Protocol):
    """Polls a condition, returns what it gives once that is true, and fails after a while."""

    def __call__[T](self, condition: Callable[[], T]) -> T: ...


class FakeS3:
    """Objects by bucket and key; counts what was asked for."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], bytes] = {}
        self.asked: list[tuple[str, str]] = []

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        self.asked.append((Bucket, Key))
        try:
            return {"Body": io.BytesIO(self.objects[Bucket, Key])}
        except KeyError:
            error = {"Code": "NoSuchKey", "Message": "The specified key does not exist."}
            raise ClientError({"Error": error}, "GetObject") from None
