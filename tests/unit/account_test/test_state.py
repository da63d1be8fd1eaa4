"""State file of a run, and its lock."""

from pathlib import Path

import pytest

from account_test.state import InProgress, State, only_run


def test_second_run_is_an_error(tmp_path: Path) -> None:
    with (
        only_run(tmp_path),
        pytest.raises(InProgress, match="another run is in progress here"),
        only_run(tmp_path),
    ):
        pass
    with only_run(tmp_path):  # the first run has ended
        pass


def test_saved_resources_persist_until_the_run_ends(tmp_path: Path) -> None:
    state = State(tmp_path / "state.json")
    assert state.content == {}
    state.remember("bucket", ["two"])
    state.begin("111122223333", "us-east-1")
    state.remember("bucket", ["one"])
    assert State(state.path).content == {
        "account": "111122223333",
        "region": "us-east-1",
        "bucket": ["one", "two"],
    }
    state.end()
    assert state.content == {}
