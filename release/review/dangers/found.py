"""What a rule finds."""

from collections.abc import Callable
from typing import NamedTuple


class Found(NamedTuple):
    """One thing that a rule found: what it is about, and a sentence.

    Where a rule finds several things of the same `group`, they are one danger, whose sentence is
    `heading` with their `{count}`. One that `explains` others, of a rule and a subject, is their
    cause: to acknowledge it acknowledges them.
    """

    subject: str
    message: str
    group: str = ""
    heading: str = ""
    explains: Callable[[str, str], bool] | None = None
