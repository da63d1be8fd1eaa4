"""Faults that are injected into a deployment."""

from dataclasses import dataclass, field
from enum import Flag, auto


class FaultKind(Flag):
    """Kinds of faults, which can be combined in one deployment."""

    NONE = 0
    BUILD = auto()
    START = auto()
    ALARM = auto()
    AFTER_ALL = auto()
    START_IN_ROLLBACK = auto()
    ALARM_IN_ROLLBACK = auto()


@dataclass
class Fault:
    """The planned faults of a deployment, and the faults that have happened."""

    planned_kinds: FaultKind = FaultKind.NONE
    happened_kinds: FaultKind = field(default=FaultKind.NONE, init=False)

    def happens_now(self, kind: FaultKind) -> bool:
        """Return whether a fault happens now, and record it."""
        current_kind = kind & self.planned_kinds
        self.happened_kinds |= current_kind
        return bool(current_kind)

    def has_happened(self) -> bool:
        """Return whether all planned faults have happened."""
        return self.happened_kinds == self.planned_kinds


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
