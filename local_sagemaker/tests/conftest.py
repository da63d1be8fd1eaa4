"""Shared fixtures: a fake S3 client, servers on free ports and boto3 clients."""

import asyncio
import inspect
import logging
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import boto3
import botocore.session
import pytest
import uvloop
from botocore.config import Config

from local_sagemaker.api import JsonService
from local_sagemaker.front.application import Application
from local_sagemaker.front.calls import Calls
from local_sagemaker.front.http_server import http_server
from local_sagemaker.tests.support.fake_s3 import FakeS3

BOTOCORE = botocore.session.get_session()
"""A session that caches the service models; loading one takes up to 0.1 s."""

T = TypeVar("T")
ClientFor = Callable[[str, Any], Any]


@pytest.fixture(autouse=True)
def _models_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(botocore.session, "get_session", lambda: BOTOCORE)


@pytest.fixture
def s3() -> Any:
    """An S3 client with `objects` to fill."""
    return FakeS3()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run coroutine tests with uvloop, as the server does."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = pyfuncitem._fixtureinfo.argnames
    uvloop.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in arguments}))
    return True


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def client(port: int) -> AsyncIterator[Streams]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()
        await writer.wait_closed()


@asynccontextmanager
async def served(application: Any) -> AsyncIterator[int]:
    """Serve an ASGI application on a free port; yield the port."""
    server = http_server(application, port=0)
    logging.getLogger("uvicorn").propagate = True  # so that `caplog` has it
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    await server.startup()
    try:
        port: int = server.servers[0].sockets[0].getsockname()[1]
        yield port
    finally:
        while connections := list(server.server_state.connections):
            for connection in connections:
                connection.transport.close()
            await asyncio.sleep(0.001)
        await server.shutdown()


@pytest.fixture(scope="session")
def event_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop on another thread, for servers that a test calls synchronously."""
    loop = uvloop.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


@pytest.fixture
def client_for(event_loop: asyncio.AbstractEventLoop) -> Iterator[ClientFor]:
    """A function that makes boto3 clients of a JSON service or an ASGI application."""
    serving = AsyncExitStack()

    def run(coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, event_loop).result()

    with ExitStack() as clients:
        clients.callback(lambda: run(serving.aclose()))

        def make(service: str, answers: JsonService | Any) -> Any:
            if isinstance(answers, JsonService):
                calls = Calls(Path(os.devnull))
                answers = Application([answers], UNCALLED, UNCALLED, calls)
            port = run(serving.enter_async_context(served(answers)))
            client = _client(service, f"http://127.0.0.1:{port}")
            clients.callback(client.close)
            return client

        yield make


async def _fail(*_: object) -> None:
    raise AssertionError("this application must not be called")


UNCALLED: Any = _fail


def _client(service: Any, url: str) -> Any:
    return boto3.client(
        service,
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(proxies={}, retries={"total_max_attempts": 1}),
    )
