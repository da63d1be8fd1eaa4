"""What preflight found: rows."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """Whether a deploy can go on. `UNKNOWN`: nobody could say."""

    OK = "ok"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Row:
    """What was found of one thing. `do` is what helps, empty where nothing needs to be done."""

    topic: str
    subject: str
    verdict: Verdict
    said: str
    do: str = ""


@dataclass(frozen=True)
class Topic:
    """Makes the rows of one topic, in the topic's words."""

    name: str

    def ok(self, subject: str, said: str, do: str = "") -> Row:
        """Return a row of what is as it should be, or what a deploy can live with."""
        return Row(self.name, subject, Verdict.OK, said, do)

    def refused(self, subject: str, said: str, do: str) -> Row:
        """Return a row of what a deploy would fail with."""
        return Row(self.name, subject, Verdict.REFUSED, said, do)

    def unknown(self, subject: str, said: str, do: str = "") -> Row:
        """Return a row of what could not be found out."""
        return Row(self.name, subject, Verdict.UNKNOWN, said, do)
