"""Fixture: an AWS account with fake answers."""

import pytest

from tests.unit.delivery.preflight.conftest import Aws


@pytest.fixture(scope="session")
def _account() -> Aws:
    """Return one account per session, because reading service models takes long."""
    return Aws()


@pytest.fixture
def aws(_account: Aws) -> Aws:
    """Return an account without answers."""
    _account.answers = {}
    _account.sent_requests.clear()
    return _account
