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
def call_repeatedly(
    *invocations: Callable[[], object], thread_count: int = 1, pauses: bool = True
) -> Iterator[None]:
    """Repeat calls on threads until the block ends; fail if a call failed.

    At least two calls are made. The pause after each is nine times the duration of a call, at most
    a second, because a variant without calls is scaled in.
    """
    stop, failures = threading.Event(), list[BaseException]()

    def loop() -> None:
        calls = 0
        try:
            while calls < 2 or not stop.is_set():
                start = time.monotonic()
                for invoke in invocations:
                    invoke()
                    calls += 1
                if pauses:
                    stop.wait(min(1.0, max(0.25, 9 * (time.monotonic() - start))))
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
