"""Every pair of states, deployed in this process."""

import pytest

from tests.transitions.pairs import Pair, pairs
from tests.transitions.report import PAGE, report
from tests.transitions.trials import Result, Verdict
from tests.transitions.ways import Way, results

Results = dict[Pair, dict[Way, Result]]


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return results(list(pairs()), tmp_path_factory.mktemp("transitions"))


def test_no_call_fails_and_what_serves_stays_in_every_transition(tried: Results) -> None:
    lost = [
        f"{pair.name}, {direction}, {broken or 'whole'}: {result.reason}"
        for pair, ways in tried.items()
        for (direction, broken), result in ways.items()
        if result.verdict is Verdict.LOST
    ]
    assert lost == []


def test_the_report_is_current(tried: Results) -> None:
    assert PAGE.read_text() == report(tried), "write docs/transitions.md: make transitions"
