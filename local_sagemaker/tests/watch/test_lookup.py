import threading

import pytest

from local_sagemaker.tests.support.waiting import eventually
from local_sagemaker.watch.lookup import CachedLookup


class Source:
    """A data source that counts its reads; each read takes `duration` seconds of a fake clock."""

    def __init__(self) -> None:
        self.now, self.duration, self.count = 100.0, 0.0, 0
        self.may_end = threading.Event()
        self.may_end.set()

    def read(self) -> int:
        self.may_end.wait()
        self.now += self.duration
        self.count += 1
        if self.count == 3:
            raise OSError("unreachable")
        return self.count

    def lookup(self) -> CachedLookup[int]:
        return CachedLookup(self.read, 0, seconds=1.0, clock=lambda: self.now)


def wait_until_finished(lookup: CachedLookup[int]) -> None:
    eventually(lambda: not lookup._fetching.locked())


def test_source_is_read_when_the_value_is_old() -> None:
    source = Source()
    lookup = source.lookup()
    assert source.count == 0
    eventually(lambda: lookup.latest() == 1)
    wait_until_finished(lookup)
    source.now += 0.9
    assert lookup.latest() == 1
    assert not lookup._fetching.locked()
    source.now += 0.2
    eventually(lambda: lookup.latest() == 2)


def test_latest_does_not_wait_for_a_read() -> None:
    source = Source()
    source.may_end.clear()
    lookup = source.lookup()
    assert [lookup.latest() for _ in range(5)] == [0] * 5
    source.may_end.set()
    wait_until_finished(lookup)
    assert source.count == 1


def test_slow_source_is_read_less_often() -> None:
    source = Source()
    source.duration = 2.0
    lookup = source.lookup()
    lookup.latest()
    wait_until_finished(lookup)
    source.now += 37
    assert lookup.latest() == 1
    assert not lookup._fetching.locked()
    source.now += 2
    eventually(lambda: lookup.latest() == 2)


def test_failed_read_keeps_the_previous_value(caplog: pytest.LogCaptureFixture) -> None:
    source = Source()
    lookup = source.lookup()
    for _ in range(4):
        lookup.latest()
        wait_until_finished(lookup)
        source.now += 1.5
        if source.count == 3:
            assert lookup._latest == 2
            assert "unreachable" in caplog.text
    assert lookup._latest == 4
