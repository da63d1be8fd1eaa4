"""What a rule finds, and the danger that it becomes."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

REPOSITORY = "repository"
"""What stands for the stage in the key of a danger that is no stage's."""


@dataclass(frozen=True)
class Danger:
    """`key` names it in `release/acknowledged.yaml`: the stage, the rule and the subject.

    `details` are what it stands for, where that is more than the message says.
    """

    stage: str
    rule: str
    subject: str
    message: str
    details: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What an acknowledgement names."""
        return f"{self.stage}/{self.rule}/{self.subject}"


class Found(NamedTuple):
    """One danger: what it is about, and a sentence.

    Several of one `group` are one danger, whose sentence is their `heading`, with their `{count}`,
    where they have the same. One that `explains` others, of a rule and a subject, is their cause:
    to acknowledge it acknowledges them. `rule` is set where it is not the name of the function that
    found it.
    """

    subject: str
    message: str
    group: str = ""
    heading: str = ""
    explains: Callable[[str, str], bool] | None = None
    rule: str = ""


def digest(text: str) -> str:
    """Return what names a text in a key: 128 bits, so that nobody finds two texts of one key.

    Who may choose both the harmless text that is acknowledged and the other one needs 2^64 tries.
    """
    return hashlib.sha256(text.encode()).hexdigest()[:32]
