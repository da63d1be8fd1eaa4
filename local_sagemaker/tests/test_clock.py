import threading
import time

import pytest

from local_sagemaker.clock import Clock, Ticker


def test_sleep_advances_the_clock() -> None:
    clock = Clock(speed=1e9)
    before = clock.now()
    clock.sleep(3600, threading.Event())
    assert clock.now() - before >= 3600


def test_stop_ends_a_sleep() -> None:
    stopping = threading.Event()
    stopping.set()
    clock = Clock(speed=1e-9)
    before = clock.now()
    clock.sleep(3600, stopping)
    assert clock.now() - before < 3600


def test_wait_until_elapsed_counts_from_the_creation() -> None:
    clock, before = Clock(speed=1000), time.monotonic()
    clock.wait_until_elapsed(20, threading.Event())
    assert time.monotonic() - before >= 0.02
    clock.wait_until_elapsed(20, threading.Event())  # returns at once: the time has passed
    stopping = threading.Event()
    stopping.set()
    Clock(speed=1e-9).wait_until_elapsed(20, stopping)


def test_ticker_continues_after_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ticks = threading.Semaphore(0)

    def work() -> None:
        ticks.release()
        raise ValueError("once more")

    ticker = Ticker(work, seconds=1, speed=1e9)
    ticker.start()
    for _ in range(3):
        ticks.acquire()
    ticker.stop()
    assert "once more" in caplog.text
    while ticks.acquire(blocking=False):
        pass
    assert not ticker._thread.is_alive()
