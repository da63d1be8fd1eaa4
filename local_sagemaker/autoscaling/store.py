"""What is registered: scalable targets, their policies and their scheduled actions."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from local_sagemaker.autoscaling.schedules import Schedule
from local_sagemaker.autoscaling.targets import Record, TargetKey
from local_sagemaker.errors import ApiError


@dataclass
class Target:
    """A scalable target; policies and scheduled actions by their names."""

    key: TargetKey
    record: Record
    policies: dict[str, Record] = field(default_factory=dict)
    actions: dict[str, Record] = field(default_factory=dict)
    schedules: dict[str, Schedule] = field(default_factory=dict)

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the most instances."""
        return self.record["MinCapacity"], self.record["MaxCapacity"]


class Store:
    """The targets by their names; what is read or changed of them is inside `locked`."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._targets: dict[TargetKey, Target] = {}

    @contextmanager
    def locked(self) -> Iterator[dict[TargetKey, Target]]:
        """Give the targets to one thread."""
        with self._lock:
            yield self._targets

    def find(self, request: Record) -> Target:
        """Return the target that a request names. Raises `ApiError`."""
        with self.locked() as targets:
            key = TargetKey.of(request)
            if key not in targets:
                raise ApiError(
                    "ObjectNotFoundException",
                    "No scalable target registered for service namespace: "
                    f"{key.namespace}, resource ID: {key.resource}, scalable dimension: "
                    f"{key.dimension}",
                )
            return targets[key]

    def all_keys(self) -> list[TargetKey]:
        """Return the targets that there are."""
        with self.locked() as targets:
            return list(targets)
