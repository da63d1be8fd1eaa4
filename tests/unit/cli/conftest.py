import time
from collections.abc import Iterator

import pytest

from tests.unit.release.preflight.conftest import Aws


@pytest.fixture(scope="session")
def _account() -> Aws:
    """Keeps the services' models, which take long to read."""
    return Aws()


@pytest.fixture
def aws(_account: Aws) -> Aws:
    """An account that has no answers yet."""
    _account.answers = {}
    _account.sent.clear()
    return _account


@pytest.fixture
def in_utc() -> Iterator[None]:
    """A machine whose clock shows UTC."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()
