"""Recorded AWS responses for tests of checks and reports."""

from datetime import UTC, datetime, timedelta
from typing import Any

from account_test.answers import Answer, Answers

BEGAN = datetime(2026, 11, 23, 9, 0, tzinfo=UTC)


class Recording:
    """Recorded AWS responses, one per minute unless `minute` is set."""

    def __init__(self) -> None:
        self._answers: list[Answer] = []

    @property
    def answers(self) -> Answers:
        return Answers(self._answers)

    def __call__(
        self,
        step: str,
        operation: str,
        response: Any = None,
        *,
        error: str = "",
        minute: int | None = None,
        **request: Any,
    ) -> "Recording":
        """Add a response; `error` is an error code."""
        date = BEGAN + timedelta(minutes=len(self._answers) if minute is None else minute)
        refusal = {"Code": error, "Message": "no"} if error else None
        answer = Answer(step, date, f"service:{operation}", request, response or {}, refusal)
        self._answers.append(answer)
        return self
