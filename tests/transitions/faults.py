"""What goes wrong half-way through a deployment."""

from dataclasses import dataclass, field
from enum import Flag, auto


class What(Flag):
    """One thing that goes wrong, or several of one deployment."""

    NOTHING = 0
    BUILD = auto()
    START = auto()
    ALARM = auto()
    AFTER_ALL = auto()
    START_IN_ROLLBACK = auto()
    ALARM_IN_ROLLBACK = auto()


@dataclass
class Fault:
    """What goes wrong in the next deployment, and what of that has happened."""

    what: What = What.NOTHING
    happened: What = field(default=What.NOTHING, init=False)

    def strikes(self, what: What) -> bool:
        """Whether this goes wrong now."""
        struck = what & self.what
        self.happened |= struck
        return bool(struck)

    def has_struck(self) -> bool:
        """Whether all of it has happened."""
        return self.happened == self.what


FAULTS = {
    "a build fails": What.BUILD,
    "instances do not start": What.START,
    "an alarm goes off while it bakes": What.ALARM,
    "a resource after the catalog fails": What.AFTER_ALL,
    "and in the rollback, instances do not start": What.AFTER_ALL | What.START_IN_ROLLBACK,
    "and in the rollback, an alarm goes off": What.AFTER_ALL | What.ALARM_IN_ROLLBACK,
}
"""In words, for the report."""


def in_rollback(what: What) -> bool:
    """Whether CloudFormation cannot roll back."""
    return bool(what & (What.START_IN_ROLLBACK | What.ALARM_IN_ROLLBACK))
