"""Comparison of the local SageMaker with recorded responses of AWS."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from local_sagemaker.tests.recorded import coverage
from local_sagemaker.tests.recorded.account import Account
from local_sagemaker.tests.recorded.recording import Scenario, difference, scenarios


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    """An empty account."""
    account = Account(tmp_path)
    yield account
    account.close()


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: scenario.name)
def test_responses_match_aws(scenario: Scenario, account: Account) -> None:
    """All rows without an exception must match; rows with an exception must differ."""
    differences, outdated = [], []
    for step in scenario.steps:
        response = account.call(step.operation, step.request, step.until)
        if not step.rows and "Code" in response:
            raise AssertionError(f"{step.operation}: {response['Code']}: {response['Message']}")
        for row in step.rows:
            mismatch = difference(row, response)
            if row.exception and not mismatch:
                outdated.append(f"{row.operation} {row.case}: {row.member}")
            elif mismatch and not row.exception:
                differences.append(mismatch)
    assert not differences, "\n".join(differences)
    assert not outdated, "these exceptions match AWS now: remove them"


def test_each_row_has_a_source() -> None:
    for row in coverage.rows():
        assert len(row.source.commit) >= 9
        assert row.source.path
