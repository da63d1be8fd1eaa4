"""The result of a check."""

from dataclasses import dataclass
from enum import StrEnum

from account_test.answers import Answer


class StatementResult(StrEnum):
    """Whether AWS's responses show a statement to be true."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class StatementFinding:
    """A result, the reason, and the AWS responses that prove it."""

    result: StatementResult
    evidence: str
    answers: tuple[Answer, ...] = ()


def finding_for(is_true: bool | None, evidence: str, *answers: Answer) -> StatementFinding:
    """Return the finding for a statement; `is_true` is None if the responses are inconclusive."""
    results = {
        True: StatementResult.CONFIRMED,
        False: StatementResult.REFUTED,
        None: StatementResult.INCONCLUSIVE,
    }
    return StatementFinding(results[is_true], evidence, answers)


def inconclusive(evidence: str, *answers: Answer) -> StatementFinding:
    """Return the finding that the responses are inconclusive."""
    return finding_for(None, evidence, *answers)
