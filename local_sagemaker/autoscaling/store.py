"""Registered scalable targets, their policies and their scheduled actions."""

import threading
from dataclasses import dataclass, field

from local_sagemaker.autoscaling.schedules import Schedule
from local_sagemaker.autoscaling.targets import Record, TargetKey
from local_sagemaker.errors import ApiError


@dataclass(frozen=True)
class ScalingStep:
    """A change of capacity; `policy` is the policy that caused it, or None.

    `before` is the capacity from which it was calculated; a second step within a cooldown keeps the
    `before` of the first one. `activity` is its scaling activity.
    """

    before: int
    capacity: int
    policy: str | None = None
    activity: Record = field(default_factory=dict)
    ended: float = 0.0


@dataclass
class RegisteredTarget:
    """A scalable target with its policies and scheduled actions by name.

    `step` is the one in progress. `out` and `into` are the last scale-out and scale-in by a policy.
    """

    key: TargetKey
    record: Record
    policies: dict[str, Record] = field(default_factory=dict)
    actions: dict[str, Record] = field(default_factory=dict)
    schedules: dict[str, Schedule] = field(default_factory=dict)
    step: ScalingStep | None = None
    out: ScalingStep | None = None
    into: ScalingStep | None = None

    @property
    def limits(self) -> tuple[int, int]:
        """The minimum and the maximum capacity."""
        return self.record["MinCapacity"], self.record["MaxCapacity"]


class Store:
    """Scalable targets by key; `lock` guards them and their attributes."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.targets: dict[TargetKey, RegisteredTarget] = {}

    def find(self, request: Record) -> RegisteredTarget:
        """Return the target that a request names. Raise `ApiError`."""
        key = TargetKey.from_request(request)
        with self.lock:
            if key in self.targets:
                return self.targets[key]
        raise ApiError(
            "ObjectNotFoundException",
            f"No scalable target registered for service namespace: {key.namespace}, "
            f"resource ID: {key.resource}, scalable dimension: {key.dimension}",
        )
