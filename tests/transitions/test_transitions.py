"""Deployments of every pair of states, in this process."""

import pytest

from tests.transitions.pairs import Pair, pairs
from tests.transitions.report import PAGE, report
from tests.transitions.trials import Result, Verdict
from tests.transitions.ways import Way, results

Results = dict[Pair, dict[Way, Result]]


@pytest.fixture(scope="module")
def trial_results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return results(list(pairs()), tmp_path_factory.mktemp("transitions"))


def test_no_call_fails_in_any_transition(trial_results: Results) -> None:
    lost = [
        f"{pair.name}, {direction}, {fault or 'no fault'}: {result.reason}"
        for pair, ways in trial_results.items()
        for (direction, fault), result in ways.items()
        if result.verdict is Verdict.LOST
    ]
    assert lost == []


def test_page_is_up_to_date(trial_results: Results) -> None:
    assert PAGE.read_text() == report(trial_results), "write docs/transitions.md: make transitions"
