"""Results of checks."""

from dataclasses import dataclass
from enum import StrEnum

from account_test.answers import Answer


class StatementResult(StrEnum):
    """Whether AWS's answers confirm or refute a statement."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    NOT_REACHED = "not reached"


@dataclass(frozen=True)
class StatementFinding:
    """A result, the reason, and the answers that show it."""

    result: StatementResult
    evidence: str
    answers: tuple[Answer, ...] = ()


def decided(is_true: bool | None, evidence: str, *answers: Answer) -> StatementFinding:
    """Return the finding that a statement is true or false; None where the answers do not show."""
    results = {
        True: StatementResult.CONFIRMED,
        False: StatementResult.REFUTED,
        None: StatementResult.NOT_REACHED,
    }
    return StatementFinding(results[is_true], evidence, answers)


def undecided(evidence: str, *answers: Answer) -> StatementFinding:
    """Return the finding that the answers do not show whether a statement is true."""
    return decided(None, evidence, *answers)
