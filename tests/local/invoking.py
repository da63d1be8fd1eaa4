"""Calls of models by clients, once and repeatedly."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from endpoint_client import EndpointClient

NUMBER_SIGNATURE = {
    "inputs": [{"name": "X", "datatype": "FP32", "shape": [-1, 1]}],
    "outputs": [{"name": "Y", "datatype": "FP32", "shape": [-1, 1]}],
    "max_batch_size": 8,
}
"""The signature of the models in tiny_models.py."""


def predict(client: EndpointClient, model: str = "times", value: float = 7) -> float:
    """Return the output Y of a model for the input X."""
    return float(client.invoke(model, {"X": np.array([[value]], np.float32)})["Y"][0, 0])


@contextmanager
def call_on_threads(call: Callable[[], object], *, thread_count: int) -> Iterator[None]:
    """Call on threads without a pause until the block ends; fail if a call failed."""
    stop, failures = threading.Event(), list[BaseException]()

    def loop() -> None:
        try:
            while not stop.is_set():
                call()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=loop) for _ in range(thread_count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []


@contextmanager
def call_repeatedly(*invocations: Callable[[], object]) -> Iterator[None]:
    """Repeat calls on a thread until the block ends; fail if a call failed.

    At least two calls are made. The pause after each is nine times the duration of a call, at most
    a second, because a variant without calls is scaled in.
    """
    stop, failures, calls = threading.Event(), list[BaseException](), 0

    def loop() -> None:
        nonlocal calls
        while calls < 2 or not stop.is_set():
            start = time.monotonic()
            for invoke in invocations:
                try:
                    invoke()
                    calls += 1
                except BaseException as error:
                    failures.append(error)
                    return
            stop.wait(min(1.0, max(0.25, 9 * (time.monotonic() - start))))

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        print(f"{calls} calls succeeded, {len(failures)} failed")  # noqa: T201
    assert failures == []
