"""Faults that are injected into a deployment."""

from dataclasses import dataclass, field
from enum import Flag, auto


class FaultKind(Flag):
    """Kinds of faults, which can be combined in one deployment."""

    NOTHING = 0
    BUILD = auto()
    START = auto()
    ALARM = auto()
    AFTER_ALL = auto()
    START_IN_ROLLBACK = auto()
    ALARM_IN_ROLLBACK = auto()


@dataclass
class Fault:
    """The faults of the next deployment, and those that have happened."""

    planned: FaultKind = FaultKind.NOTHING
    happened: FaultKind = field(default=FaultKind.NOTHING, init=False)

    def strikes(self, kind: FaultKind) -> bool:
        """Return whether a fault happens now, and record it."""
        now = kind & self.planned
        self.happened |= now
        return bool(now)

    def has_struck(self) -> bool:
        """Return whether all planned faults have happened."""
        return self.happened == self.planned


FAULTS = {
    "a build fails": FaultKind.BUILD,
    "instances do not start": FaultKind.START,
    "an alarm during the baking period": FaultKind.ALARM,
    "a resource after the catalog fails": FaultKind.AFTER_ALL,
    "the same, and instances do not start in the rollback": FaultKind.AFTER_ALL
    | FaultKind.START_IN_ROLLBACK,
    "the same, and an alarm in the rollback": FaultKind.AFTER_ALL | FaultKind.ALARM_IN_ROLLBACK,
}
"""Description in the report -> faults."""
