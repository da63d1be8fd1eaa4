"""Deployments of every pair of states, in this process."""

import pytest

from tests.transitions.deployments import Deployment, deployment_results
from tests.transitions.pairs import Pair, pairs
from tests.transitions.report import PAGE, report
from tests.transitions.trials import Result, Verdict

pytestmark = pytest.mark.drill

Results = dict[Pair, dict[Deployment, Result]]


@pytest.fixture(scope="module")
def trial_results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return deployment_results(list(pairs()), tmp_path_factory.mktemp("transitions"))


def test_no_call_fails_in_any_transition(trial_results: Results) -> None:
    wrong_results = [
        f"{pair.name}, {direction}, {fault or 'no fault'}: {result.reason}"
        for pair, by_deployment in trial_results.items()
        for (direction, fault), result in by_deployment.items()
        if result.verdict is Verdict.WRONG
    ]
    assert wrong_results == []


def test_page_is_up_to_date(trial_results: Results) -> None:
    assert PAGE.read_text() == report(trial_results), "write it anew: make transitions"
