"""Forks, event loops and the closing of clients."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from endpoint_client import AsyncEndpointClient, EndpointClient
from tests.unit.endpoint_client.conftest import TEXT_INPUT, Blocker, Response


def run_in_fork(call: Callable[[], object]) -> int:
    """Return the exit status of a child process that runs `call`."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            call()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1]


def test_fork_does_not_share_connections(sync_client: EndpointClient, aws: Any) -> None:
    sync_client.invoke("minilm", TEXT_INPUT)
    connections_before = aws.connections
    assert run_in_fork(lambda: sync_client.invoke("minilm", TEXT_INPUT)) == 0
    assert aws.connections == connections_before + 1
    sync_client.invoke("minilm", TEXT_INPUT)
    assert aws.connections == connections_before + 1


@pytest.mark.usefixtures("aws")
def test_client_serves_several_event_loops(sync_client: EndpointClient) -> None:
    client = AsyncEndpointClient(sync_client)

    def run() -> Any:
        return asyncio.run(client.invoke("minilm", TEXT_INPUT))["EMBEDDING"].tolist()

    assert run() == run() == [[b"one"]]
    with ThreadPoolExecutor() as threads:
        futures = [threads.submit(run), threads.submit(run)]
        assert [future.result() for future in futures] == 2 * [[[b"one"]]]
    asyncio.run(client.close())


def test_close_completes_calls_in_progress_and_allows_later_calls(
    sync_client: EndpointClient, aws: Any
) -> None:
    blocker = Blocker()
    sync_client.invoke("minilm", TEXT_INPUT)
    _, headers, body = aws.requests[-1]
    echo = aws.invoke(body, headers["content-type"])
    aws.responses = [Response(200, *echo.chunks, headers=echo.headers, before_chunk=blocker)]
    with ThreadPoolExecutor() as threads:
        future = threads.submit(sync_client.invoke, "minilm", TEXT_INPUT)
        blocker.reached.wait()
        sync_client.close()
        blocker.released.set()
        assert future.result()["EMBEDDING"].tolist() == [[b"one"]]
    assert sync_client.invoke("minilm", TEXT_INPUT)["EMBEDDING"].tolist() == [[b"one"]]
