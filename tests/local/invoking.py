"""A client that never stops asking."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from endpoint_client import EndpointClient


@contextmanager
def invoked_all_the_while(client: EndpointClient) -> Iterator[None]:
    """Invoke in a loop on a thread; fail if a single call failed."""
    stop, failures, calls = threading.Event(), list[BaseException](), 0

    def loop() -> None:
        nonlocal calls
        while not stop.is_set():
            try:
                client.invoke("minilm", {"TEXT": ["hi"]})
                calls += 1
            except BaseException as error:
                failures.append(error)
                return
            time.sleep(0.05)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert failures == []
    assert calls > 10
