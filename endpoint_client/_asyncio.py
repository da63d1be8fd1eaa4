"""The client for asyncio: the client for threads, on threads of its own.

With 256 coroutines it takes the CPU time of as many threads with boto3, 0.7 ms a call. botocore's
signer with aiohttp took 0.3, for a second copy of what sends, refreshes credentials, retries and
reads errors and streams.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar

from endpoint_client._client import EndpointClient
from endpoint_client._retries import Deadline

P = ParamSpec("P")
T = TypeVar("T")


def _on_a_thread(
    method: Callable[Concatenate[EndpointClient, P], T],
) -> Callable[Concatenate["AsyncEndpointClient", P], Coroutine[Any, Any, T]]:
    async def call(self: "AsyncEndpointClient", /, *arguments: P.args, **options: P.kwargs) -> T:
        with Deadline.of(options.get("timeout")) as deadline:
            options["timeout"] = deadline  # which began before the call has a thread
            run = partial(method, self._client, *arguments, **options)
            return await asyncio.get_running_loop().run_in_executor(self._threads, run)

    call.__doc__ = method.__doc__
    return call


class AsyncEndpointClient(AbstractAsyncContextManager["AsyncEndpointClient"]):
    """`EndpointClient` for asyncio, with the same methods as coroutines.

    `client` is the one whose methods are called, `concurrency` how many at once; other calls wait.
    Its threads do not outlive a fork: make it afterwards.
    A call that is cancelled sends nothing more, and leaves its thread when it is answered, or after
    its `timeout`.
    """

    models = _on_a_thread(EndpointClient.models)
    resolve = _on_a_thread(EndpointClient.resolve)
    invoke = _on_a_thread(EndpointClient.invoke)
    invoke_many = _on_a_thread(EndpointClient.invoke_many)

    def __init__(self, client: EndpointClient, *, concurrency: int = 64) -> None:
        self._client = client
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="endpoint_client")

    async def stream(self, *arguments: Any, **options: Any) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the outputs of each response by name, as `EndpointClient.stream` does."""
        with Deadline.of(options.get("timeout")) as deadline:
            options["timeout"] = deadline
            events: Any = self._client.stream(*arguments, **options)
            response = self._threads.submit(next, events, None)
            try:
                while (event := await asyncio.wrap_future(response)) is not None:
                    yield event
                    response = self._threads.submit(next, events, None)
            finally:  # a cancelled call's thread may still be in it
                response.add_done_callback(lambda _: events.close())

    async def close(self) -> None:
        """Close the connections, once all calls are answered."""
        await asyncio.to_thread(self._threads.shutdown)
        self._client.close()

    async def __aexit__(self, *_: object) -> None:
        await self.close()
