"""A short run of the soak: everything happens once, every answer is explained, nothing is left."""

from collections.abc import Iterator

import pytest

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
        with local_sagemaker_in(tmp_path_factory.mktemp("local_sagemaker")) as aws:
            yield run(aws.folder, aws.running, seconds=SECONDS, seed=1)


def test_everything_that_is_planned_happens(done: Run) -> None:
    assert {
        *("publish", "ask for what cannot be loaded", "ask a slow model", "send half a request"),
        *("hang up under an answer", "replace an archive while it is loaded", "delete an archive"),
        *("kill a stub", "kill the server of many", "update many", "scale", "update one"),
        *("update one by a canary", "update one by a canary that fails", "kill a server of one"),
        *("poll", "build", "delete what was captured"),
    } == done.record.done.keys()


def test_every_answer_is_right_or_explained(done: Run) -> None:
    assert done.record.unexplained == []
    assert done.record.calls["answered"] > done.record.calls["failed by a fault"] > 0


def test_nothing_is_left_of_endpoints_that_are_deleted(done: Run) -> None:
    assert max(found["stubs memory"] for _, found in done.samples) > 0
    assert done.left == []
