"""Concurrent callers of a client that check each response."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from endpoint_client import AsyncEndpointClient, EndpointClient, EndpointError
from local_sagemaker.tests.support.waiting import LIMIT_SECONDS

FIRST_INPUT = 1000
"""Input of the first caller. Each caller sends a different number, so that responses differ."""
Outputs = dict[str, Any]


class Calls:
    """Responses and failures of concurrent callers."""

    def __init__(self, models: list[str]) -> None:
        self.responses = Counter[tuple[str, float]]()
        self.failures: list[EndpointError] = []
        self.is_over = False
        self.ended_callers: list[Future[None]] = []
        self._models, self._changed = models, threading.Condition()

    def model(self, number: int) -> str:
        """Return the model of a call by its number; models take turns."""
        return self._models[number % len(self._models)]

    def add_response(self, model: str, number: int, outputs: Outputs) -> None:
        """Count a response by the factor between its output and the input `number`."""
        with self._changed:
            self.responses[model, float(outputs["Y"][0, 0]) / number] += 1
            self._changed.notify_all()

    def add_failure(self, error: EndpointError) -> None:
        with self._changed:
            self.failures.append(error)
            self._changed.notify_all()

    def end(self, caller: Future[None]) -> None:
        """Add a caller that ended."""
        with self._changed:
            self.ended_callers.append(caller)
            self._changed.notify_all()

    def wait_for(self, condition: Callable[[], object]) -> None:
        """Wait until a condition holds. Raise the exception of a caller that ended."""
        with self._changed:
            assert self._changed.wait_for(
                lambda: self.ended_callers or condition(), timeout=LIMIT_SECONDS
            )
        for caller in self.ended_callers:
            caller.result()

    def wait_for_more(self, count: int, factor: float | None = None) -> None:
        """Wait for `count` more responses, with one factor or any."""

        def total() -> int:
            counts = self.responses.items()
            return sum(
                number
                for (_, response_factor), number in counts
                if factor in (None, response_factor)
            )

        with self._changed:
            end = total() + count
        self.wait_for(lambda: total() >= end)


@contextmanager
def call_concurrently(
    client: EndpointClient, *models: str, threads: int = 0, coroutines: int = 0
) -> Iterator[Calls]:
    """Invoke models that multiply, by threads and coroutines, until the block ends."""
    calls = Calls([*models])

    def call(number: int) -> None:
        turn = number
        while not calls.is_over:
            turn += 1
            model = calls.model(turn)
            try:
                calls.add_response(model, number, client.invoke(model, {"X": [[number]]}))
            except EndpointError as error:
                calls.add_failure(error)

    async def call_in_loop() -> None:
        async with AsyncEndpointClient(client) as asynchronous:

            async def call(number: int) -> None:
                turn = number
                while not calls.is_over:
                    turn += 1
                    model = calls.model(turn)
                    try:
                        outputs = await asynchronous.invoke(model, {"X": [[number]]})
                        calls.add_response(model, number, outputs)
                    except EndpointError as error:
                        calls.add_failure(error)

            await asyncio.gather(*(call(FIRST_INPUT + caller) for caller in range(coroutines)))
            assert asyncio.all_tasks() == {asyncio.current_task()}

    with ThreadPoolExecutor(threads + 1) as pool:
        numbers = range(FIRST_INPUT, FIRST_INPUT + threads)
        futures: list[Future[None]] = [pool.submit(call, number) for number in numbers]
        if coroutines:
            futures.append(pool.submit(asyncio.run, call_in_loop()))
        for future in futures:
            future.add_done_callback(calls.end)
        try:
            yield calls
        finally:
            calls.is_over = True
        for future in futures:
            future.result()
