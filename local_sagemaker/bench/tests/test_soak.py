"""A short soak: each fault happens once, every failure has a cause, and nothing is left."""

import time
from collections import Counter
from collections.abc import Iterator

import pytest

from local_sagemaker.bench.soak.calls import Record
from local_sagemaker.bench.soak.processes import growth, left
from local_sagemaker.bench.soak.run import Run, run
from local_sagemaker.bench.soak.scene import MEMORY_MIB
from local_sagemaker.settings import MEMORY, SPEED
from local_sagemaker.tests.support.running import local_sagemaker_in

SECONDS = 12  # in which everything begins; how long it takes depends on the machine


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MEMORY, str(MEMORY_MIB))
        patch.setenv(SPEED, "240")
        with local_sagemaker_in(tmp_path_factory.mktemp("local_sagemaker")) as local:
            yield run(local.folder, local.running, seconds=SECONDS, seed=1)


def test_every_fault_happens(done: Run) -> None:
    assert {
        *("publish", "call a broken model", "send half a request", "hang up", "delete an archive"),
        *("kill stubs", "kill the server of many", "update many", "scale", "update one"),
        *("update one by a canary", "roll a canary back", "kill a server of one"),
        "look",
    } == done.record.faults.keys()


def test_every_answer_is_right_or_its_failure_has_a_cause(done: Run) -> None:
    assert done.record.unexplained == []
    assert done.record.calls["answered"] > done.record.calls["failed by a fault"] > 0


def test_nothing_is_left_of_deleted_endpoints(done: Run) -> None:
    assert left(done.before, done.after) == []


def test_a_fault_explains_failures_of_its_endpoint_while_it_lasts() -> None:
    record = Record()
    before = time.monotonic()
    with record.fault("many"):
        record.count("many", before, "the container did not answer")
        record.count("one", before, "the container did not answer")
    record.count("many", before, "a call that began earlier")
    record.count("many", time.monotonic(), "a call that began later")
    assert record.calls == {"failed by a fault": 2}
    problems = ["one: the container did not answer", "many: a call that began later"]
    assert record.unexplained == problems


def test_growth_after_the_warm_up_is_measured() -> None:
    grown = [Counter({"front memory": 100 + minute}) for minute in range(60)]
    grown[0]["front memory"] = 500
    first, last = growth(grown)["front memory"]
    assert last - first == pytest.approx(30, abs=1)
