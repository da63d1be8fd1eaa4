import threading

import pytest

from local_sagemaker.tests.support.waiting import eventually
from local_sagemaker.watch.lookup import Lookup


class Looks:
    """Counts, and takes the seconds that it is told, of a time that nothing else moves."""

    def __init__(self) -> None:
        self.now, self.takes, self.count = 100.0, 0.0, 0
        self.may_end = threading.Event()
        self.may_end.set()

    def look(self) -> int:
        self.may_end.wait()
        self.now += self.takes
        self.count += 1
        if self.count == 3:
            raise OSError("away")
        return self.count

    def made(self) -> Lookup[int]:
        return Lookup(self.look, 0, seconds=1.0, clock=lambda: self.now)


def settled(lookup: Lookup[int]) -> None:
    eventually(lambda: not lookup._looking.locked())


def test_it_looks_when_asked_and_the_last_look_is_old() -> None:
    looks = Looks()
    lookup = looks.made()
    assert looks.count == 0
    eventually(lambda: lookup.latest() == 1)
    settled(lookup)
    looks.now += 0.9
    assert lookup.latest() == 1
    assert not lookup._looking.locked()
    looks.now += 0.2
    eventually(lambda: lookup.latest() == 2)


def test_nobody_waits_for_a_look_and_there_is_one_at_a_time() -> None:
    looks = Looks()
    looks.may_end.clear()
    lookup = looks.made()
    assert [lookup.latest() for _ in range(5)] == [0] * 5
    looks.may_end.set()
    settled(lookup)
    assert looks.count == 1


def test_what_takes_long_is_made_more_rarely() -> None:
    looks = Looks()
    looks.takes = 2.0
    lookup = looks.made()
    lookup.latest()
    settled(lookup)
    looks.now += 37
    assert lookup.latest() == 1
    assert not lookup._looking.locked()
    looks.now += 2
    eventually(lambda: lookup.latest() == 2)


def test_a_look_that_fails_leaves_what_was_found_before(caplog: pytest.LogCaptureFixture) -> None:
    looks = Looks()
    lookup = looks.made()
    for _ in range(4):
        lookup.latest()
        settled(lookup)
        looks.now += 1.5
        if looks.count == 3:
            assert lookup._latest == 2
            assert "away" in caplog.text
    assert lookup._latest == 4
