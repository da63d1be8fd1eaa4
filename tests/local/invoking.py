"""A client that never stops asking."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def invoked_all_the_while(*invocations: Callable[[], object]) -> Iterator[None]:
    """Make these calls in a loop on a thread; fail if a single one failed."""
    stop, failures, calls = threading.Event(), list[BaseException](), 0

    def loop() -> None:
        nonlocal calls
        while not stop.is_set():
            for invoke in invocations:
                try:
                    invoke()
                    calls += 1
                except BaseException as error:
                    failures.append(error)
                    return
            stop.wait(0.1)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert failures == []
    assert calls >= 2
