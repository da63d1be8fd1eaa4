"""How a check comes out."""

from dataclasses import dataclass
from enum import StrEnum

from account_test.answers import Answer


class Result(StrEnum):
    """Whether AWS's answers show a statement to be true."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    NOT_REACHED = "not reached"


@dataclass(frozen=True)
class Finding:
    """A result, the reason, and the answers that show it."""

    result: Result
    evidence: str
    answers: tuple[Answer, ...] = ()


def decided(is_true: bool | None, evidence: str, *answers: Answer) -> Finding:
    """Return the finding that a statement is true or false; None where the answers do not show."""
    results = {True: Result.CONFIRMED, False: Result.REFUTED, None: Result.NOT_REACHED}
    return Finding(results[is_true], evidence, answers)


def undecided(evidence: str, *answers: Answer) -> Finding:
    """Return the finding that the answers do not show whether a statement is true."""
    return decided(None, evidence, *answers)
