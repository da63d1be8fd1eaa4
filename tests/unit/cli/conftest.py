"""An AWS account with fake answers, and Python processes in the repository."""

import subprocess
import sys
from typing import Any

import pytest

from tests.unit.delivery.preflight.conftest import Aws
from tests.unit.test_repository import ROOT


def run_python(*arguments: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run Python in the repository; return its exit code and output."""
    if "stdout" not in options:
        options["capture_output"] = True
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, text=True, check=False, **options)


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
