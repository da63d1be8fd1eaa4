"""Concurrent callers of a client that check each response."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from endpoint_client import AsyncEndpointClient, EndpointClient, EndpointError
from local_sagemaker.tests.support.waiting import LIMIT_SECONDS

FIRST_INPUT = 1000
"""Input of the first caller. Each caller sends a different number, so that responses differ."""


class Calls:
    """Responses and failures of concurrent callers of models that multiply.

    `responses` counts by model and by the factor between the output and the input.
    """

    def __init__(self, models: tuple[str, ...]) -> None:
        self.responses = Counter[tuple[str, float]]()
        self.failures: list[EndpointError] = []
        self.is_over = False
        self._models, self._changed = models, threading.Condition()

    async def run(self, client: EndpointClient, callers: int) -> None:
        """Call the models, which take turns, until `is_over`."""
        async with AsyncEndpointClient(client) as asynchronous:
            numbers = range(FIRST_INPUT, FIRST_INPUT + callers)
            await asyncio.gather(*(self._call(asynchronous, number) for number in numbers))
            assert asyncio.all_tasks() == {asyncio.current_task()}

    async def _call(self, client: AsyncEndpointClient, number: int) -> None:
        turn = number
        try:
            while not self.is_over:
                turn += 1
                model = self._models[turn % len(self._models)]
                try:
                    outputs = await client.invoke(model, {"X": [[number]]})
                    self.responses[model, float(outputs["Y"][0, 0]) / number] += 1
                except EndpointError as error:
                    self.failures.append(error)
                with self._changed:
                    self._changed.notify_all()
        finally:
            self.is_over = True  # also if a caller raises another error
            with self._changed:
                self._changed.notify_all()

    def wait_for(self, condition: Callable[[], object]) -> None:
        """Wait until a condition holds. Raise `AssertionError` if a caller has ended."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.is_over or condition(), LIMIT_SECONDS)
        assert not self.is_over

    def wait_for_more(self, count: int, factor: float | None = None) -> None:
        """Wait for `count` more responses, with one factor or any."""

        def total() -> int:
            counts = self.responses.copy().items()
            return sum(number for (_, each), number in counts if factor in (None, each))

        end = total() + count
        self.wait_for(lambda: total() >= end)


@contextmanager
def call_concurrently(client: EndpointClient, *models: str, callers: int) -> Iterator[Calls]:
    """Invoke models that multiply, by coroutines and the client's threads, until the block ends."""
    calls = Calls(models)
    with ThreadPoolExecutor(1) as thread:
        run = thread.submit(asyncio.run, calls.run(client, callers))
        try:
            yield calls
        finally:
            calls.is_over = True
            run.result()
