"""The open questions of docs/aws.md: what decides each of them."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from account_test import deployment_checks, setting_checks
from account_test.answers import Answers
from account_test.findings import StatementFinding, inconclusive

FILE = Path(__file__).with_name("checks.toml")


@dataclass(frozen=True)
class Check:
    """A question. `statement` holds if the check is `confirmed`; `step` observes it.

    `not_observable` says why this run cannot observe it, empty where it can.
    """

    id: str
    statement: str
    step: str = ""
    not_observable: str = ""

    def decide(self, answers: Answers) -> StatementFinding:
        """Return the result of a check by the recorded answers."""
        if self.not_observable:
            return inconclusive(f"not observable in this run: {self.not_observable}")
        functions = {**vars(deployment_checks), **vars(setting_checks)}
        decide: Callable[[Answers], StatementFinding] = functions[self.id.replace("-", "_")]
        try:
            return decide(answers)
        except (IndexError, KeyError, TypeError) as error:  # no reason to lose a report
            return inconclusive(f"the answers are not as expected: {type(error).__name__}: {error}")


def checks() -> list[Check]:
    """Return all checks."""
    return [Check(**table) for table in tomllib.loads(FILE.read_text())["check"]]
