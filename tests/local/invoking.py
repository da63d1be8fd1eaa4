"""A client that never stops asking."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def invoked_all_the_while(*invocations: Callable[[], object]) -> Iterator[None]:
    """Make these calls in a loop on a thread; fail if a single one failed.

    There are two at least. Whoever is asked is left the machine, for nine times as long as a call
    took, but for a second at most: a variant that nobody asks is scaled in.
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
