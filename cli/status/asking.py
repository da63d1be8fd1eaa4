"""What a caller may not know is left out, and said."""

from collections.abc import Callable
from typing import TypeVar

from botocore.exceptions import ClientError

from release.preflight.answers import DENIED, why

T = TypeVar("T")


class Asking:
    """Asks one thing after the other; `refused` says what the caller may not ask."""

    def __init__(self) -> None:
        self.refused: list[str] = []

    def ask(self, what: str, question: Callable[[], T]) -> T | None:
        """Return the answer; None to a caller who may not ask. Raises `ClientError`."""
        try:
            return question()
        except ClientError as error:
            if error.response["Error"].get("Code") not in DENIED:
                raise
            self.refused.append(f"{what}: {why(error)}")
            return None
