import threading
import time

import pytest

from local_sagemaker.clock import Clock, Ticker


def test_what_is_slept_passes_whole_however_fast() -> None:
    clock = Clock(speed=1e9)
    before = clock.now()
    clock.sleep(3600, threading.Event())
    assert clock.now() - before >= 3600


def test_a_sleep_ends_at_once_when_everything_stops() -> None:
    stopping = threading.Event()
    stopping.set()
    clock = Clock(speed=1e-9)
    before = clock.now()
    clock.sleep(3600, stopping)
    assert clock.now() - before < 3600


def test_what_is_filled_up_lasts_as_long_as_aws_s_seconds_take_here() -> None:
    clock, before = Clock(speed=1000), time.monotonic()
    clock.fill(20, threading.Event())
    assert time.monotonic() - before >= 0.02
    clock.fill(20, threading.Event())  # they have passed
    stopping = threading.Event()
    stopping.set()
    Clock(speed=1e-9).fill(20, stopping)


def test_a_ticker_goes_on_after_what_fails_until_it_is_stopped(
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
