"""A client that calls repeatedly."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def call_repeatedly(*invocations: Callable[[], object]) -> Iterator[None]:
    """Make these calls in a loop on a thread; fail if a single one failed.

    At least two calls are made. The pause after each is nine times the duration of a call, at most
    a second, because a variant without calls is scaled in.
    """
    stop, failures, calls = threading.Event(), list[BaseException](), 0

    def loop() -> None:
        nonlocal calls
        while calls < 2 or not stop.is_set():
            begun = time.monotonic()
            for invoke in invocations:
                try:
                    invoke()
                    calls += 1
                except BaseException as error:
                    failures.append(error)
                    return
            stop.wait(min(1.0, max(0.25, 9 * (time.monotonic() - begun))))

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        print(f"answered {calls}, lost {len(failures)}")  # noqa: T201
    assert failures == []
