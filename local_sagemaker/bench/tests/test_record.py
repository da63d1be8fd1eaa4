"""Which errors what was done explains."""

import pytest

from local_sagemaker.bench.soak.plan import LATEST, plan
from local_sagemaker.bench.soak.record import Call, Record

GONE = "424 ModelError the container did not answer"


def test_what_is_under_way_while_something_breaks_may_fail_by_it_and_nothing_else() -> None:
    record = Record()
    before = record.now()
    with record.excused("many", None, "did not answer"):
        pass
    after = record.now()
    record.note(Call("many", "a", before, after, GONE))
    assert record.unexplained == []
    record.note(Call("many", "a", after, after, GONE))
    record.note(Call("many", "a", before, after, "424 ModelError something else"))
    record.note(Call("one", "", before, after, GONE))
    assert len(record.unexplained) == record.calls["unexplained"] == 3
    assert record.calls["failed by a fault"] == 1


def test_a_fault_of_one_model_explains_nothing_of_another() -> None:
    record = Record()
    with record.excused("many", "a", "did not answer"):
        record.note(Call("many", "a", record.now(), record.now(), GONE))
        record.note(Call("many", "b", record.now(), record.now(), GONE))
    (told,) = record.unexplained
    assert told.endswith(f"many b: {GONE}")


def test_a_model_that_is_not_ready_is_asked_again() -> None:
    record = Record()
    record.note(Call("many", "a", 0, 60, "429 ModelNotReadyException it is still loading"))
    record.note(Call("many", "a", 60, 61, None))
    assert (record.calls["not ready yet"], record.calls["answered"]) == (1, 1)
    assert record.unexplained == []


@pytest.mark.parametrize("seconds", [10, 3600])
def test_a_plan_has_everything_and_follows_from_its_seed(seconds: float) -> None:
    pauses = {"often": 5.0, "seldom": 4000.0}
    planned = plan(pauses, seconds=seconds, seed=1)
    assert planned == plan(pauses, seconds=seconds, seed=1)
    assert planned != plan(pauses, seconds=seconds, seed=2)
    assert {it.what for it in planned if it.second <= LATEST * seconds} == pauses.keys()
    times = [it.second for it in planned]
    assert times == sorted(times)
    assert times[-1] < seconds
