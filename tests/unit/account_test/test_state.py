"""State file of a run, and its lock."""

from pathlib import Path

import pytest

from account_test.state import RunInProgress, State, lock_state


def test_second_run_is_an_error(tmp_path: Path) -> None:
    with (
        lock_state(tmp_path),
        pytest.raises(RunInProgress, match="another run is in progress here"),
        lock_state(tmp_path),
    ):
        pass
    with lock_state(tmp_path):  # the first run has ended
        pass


def test_saved_resources_persist_until_the_run_ends(tmp_path: Path) -> None:
    state = State(tmp_path / "state.json")
    assert state.content == {}
    state.add_resources("bucket", ["two"])
    state.begin("111122223333", "us-east-1")
    state.add_resources("bucket", ["one"])
    assert State(state.path).content == {
        "account": "111122223333",
        "region": "us-east-1",
        "bucket": ["one", "two"],
    }
    state.end()
    assert state.content == {}
