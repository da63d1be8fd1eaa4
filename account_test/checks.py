"""The open assumptions of docs/aws.md, and the function that decides each of them."""

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
    """An assumption; `step` is the step whose responses decide whether `statement` is true.

    `not_observable` is the reason that a run cannot decide it, empty if it can.
    """

    id: str
    statement: str
    step: str = ""
    not_observable: str = ""

    def decide(self, answers: Answers) -> StatementFinding:
        """Return the finding from the recorded responses."""
        if self.not_observable:
            return inconclusive(f"not observable in this run: {self.not_observable}")
        functions = {**vars(deployment_checks), **vars(setting_checks)}
        decide: Callable[[Answers], StatementFinding] = functions[self.id.replace("-", "_")]
        try:
            return decide(answers)
        except (IndexError, KeyError, TypeError) as error:  # the report needs a row for each check
            return inconclusive(f"unexpected responses: {type(error).__name__}: {error}")


def checks() -> list[Check]:
    """Return all checks."""
    return [Check(**table) for table in tomllib.loads(FILE.read_text())["check"]]
