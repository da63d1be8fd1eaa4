"""Registered scalable targets, their policies and their scheduled actions."""

import threading
from dataclasses import dataclass, field

from local_sagemaker.autoscaling.schedules import Schedule
from local_sagemaker.autoscaling.targets import Record, TargetKey
from local_sagemaker.errors import ApiError


@dataclass(frozen=True)
class ScalingStep:
    """A change of capacity, with its scaling activity; `policy` is None if no policy caused it.

    `old_capacity` is the capacity from which the change was calculated: for a second step within a
    cooldown, the one before the first step. `end_time` is in Unix seconds.
    """

    old_capacity: int
    capacity: int
    policy: str | None = None
    activity: Record = field(default_factory=dict)
    end_time: float = 0.0


@dataclass
class RegisteredTarget:
    """A scalable target with its policies and scheduled actions by name.

    `step` is in progress. `scale_out` and `scale_in` are the last ones that a policy caused.
    """

    key: TargetKey
    record: Record
    policies: dict[str, Record] = field(default_factory=dict)
    actions: dict[str, Record] = field(default_factory=dict)
    schedules: dict[str, Schedule] = field(default_factory=dict)
    step: ScalingStep | None = None
    scale_out: ScalingStep | None = None
    scale_in: ScalingStep | None = None
    tags: dict[str, str] = field(default_factory=dict)

    def is_suspended(self, kind: str) -> bool:
        """Return whether scaling of a kind, a member of SuspendedState, is suspended."""
        return bool(self.record["SuspendedState"][kind])

    @property
    def limits(self) -> tuple[int, int]:
        """The minimum and the maximum capacity."""
        return self.record["MinCapacity"], self.record["MaxCapacity"]


class Store:
    """Scalable targets by key; `lock` guards them and their attributes."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.targets: dict[TargetKey, RegisteredTarget] = {}

    def find(self, request: Record, *, missing: str = "registered") -> RegisteredTarget:
        """Return the target of a request. Raise `ApiError` if it is not registered."""
        key = TargetKey.from_request(request)
        with self.lock:
            if key in self.targets:
                return self.targets[key]
        raise ApiError(
            "ObjectNotFoundException",
            f"No scalable target {missing} for {key.description}",
        )
