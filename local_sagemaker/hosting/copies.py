"""Placement of inference component copies on instances, according to their reservations.

Only reservations count: "a scheduling reservation, not a cap" (huggingface/skills,
hf-cloud-sagemaker-production-defaults, measured on AWS). On ml.g5.xlarge, which has 16 GiB, AWS
accepted 1024 MB and rejected 4096 MB; the reservable share of the memory is not documented. Here
all memory can be reserved, except in the known rejected case.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.hosting.capacity import Resources
from local_sagemaker.hosting.pools import Pool

if TYPE_CHECKING:
    from local_sagemaker.hosting.container import ModelStatus
    from local_sagemaker.hosting.fleet import Fleet
    from local_sagemaker.hosting.instance import Instance, RunningServer

NO_ROOM = (
    "There is not enough hardware resources on the instances for this endpoint to create a copy of "
    "the inference component."
)
"""FailureReason. Source: see the module's docstring."""

REJECTED_MIB = {"ml.g5.xlarge": 4096}


class NoRoomError(LocalSageMakerError):
    """No instance has enough free resources for a copy, and no instance may be added."""

    def __init__(self) -> None:
        super().__init__(NO_ROOM)


@dataclass(frozen=True, eq=False, kw_only=True)
class Slot(Pool):
    """A copy's reservation on an instance; `number` counts its component's copies there."""

    host: "CopyHost"
    component: str
    number: int
    needs: Resources
    held_by: "list[Instance]" = field(default_factory=list)

    @property
    def name(self) -> str:
        """Return the copy's name on its instance."""
        return f"{self.component}/{self.number}"

    def hold(self, instance: "Instance") -> None:
        """Remember the instance that runs the copy."""
        self.held_by.append(instance)


class CopyHost:
    """An instance that hosts copies; acts as both server and container of its `Instance`.

    Its resource usage is the sum of its copies'.
    """

    loaded_models = None

    def __init__(self, instance_id: str, variant: Mapping[str, Any]) -> None:
        self.id, self.variant = instance_id, str(variant["VariantName"])
        self.resources = resources_of(variant["InstanceType"])
        self.slots: list[Slot] = []
        self.idle_since = time.monotonic()
        self._ended = threading.Event()

    @staticmethod
    def find(instance: "Instance") -> "CopyHost | None":
        """Return the copy host of an instance; None if it has a model or has not started."""
        container: Any = instance.running and instance.running.container
        return container if isinstance(container, CopyHost) else None

    def wait_until_healthy(self, timeout: float) -> None:
        """Return immediately: it has no container."""

    def failed_ping(self, timeout: float) -> None:
        """Return None: it has no container to ping."""

    def wait(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds; return whether it has ended."""
        return self._ended.wait(timeout)

    def stop(self) -> None:
        """End the instance and its copies."""
        self._ended.set()
        for copy in list(self._copies()):
            copy.stop()

    def resident_bytes(self) -> int:
        """Return the memory of its copies in bytes."""
        return sum(server.triton.resident_bytes() for server in self._servers())

    def cpu_seconds(self) -> float:
        """Return the processor time of its copies in seconds."""
        return sum(server.triton.cpu_seconds() for server in self._servers())

    @property
    def disk_bytes(self) -> int:
        """The size of its copies' models on the volume."""
        return sum(server.container.disk_bytes for server in self._servers())

    def statuses(self) -> "list[ModelStatus]":
        """Return its copies as models named after the copies."""
        return [
            replace(status, target_model=slot.name)
            for slot in list(self.slots)
            for copy in slot.held_by
            if copy.running
            for status in copy.running.container.statuses()
        ]

    def reserved(self) -> list[Resources]:
        """Return the reservations of its copies."""
        return [slot.needs for slot in list(self.slots)]

    def reservations(self) -> Resources:
        """Return the reserved percentages of its resources."""
        shares = zip(
            astuple(Resources.total(self.reserved())), astuple(self.resources), strict=True
        )
        return Resources(*(round(100 * part / whole, 2) if whole else 0 for part, whole in shares))

    def _copies(self) -> "Iterator[Instance]":
        return (copy for slot in list(self.slots) for copy in slot.held_by)

    def _servers(self) -> "Iterator[RunningServer]":
        return (server for copy in self._copies() if (server := copy.running))


def resources_of(instance_type: str) -> Resources:
    """Return the resources of an instance type that CreateEndpointConfig has validated."""
    resources = Resources.for_type(instance_type)
    assert resources is not None
    return resources


class Placement:
    """Placement of copies on the instances of an endpoint's `fleet`.

    `add` adds an instance, or returns False if the maximum is reached. A copy is placed on the
    first instance with enough resources; SageMaker's choice without a SchedulingConfig has no
    source.
    """

    def __init__(self, fleet: "Fleet", instance_type: str, add: Callable[[], bool]) -> None:
        self._fleet, self._type, self._add = fleet, instance_type, add
        self._resources = resources_of(instance_type)
        self._lock = threading.RLock()

    def take(self, variant: Mapping[str, Any]) -> Slot:
        """Reserve resources for a copy, on a new instance if necessary. Raise `NoRoomError`."""
        declared = variant["ComputeResourceRequirements"]
        needs = Resources(
            declared["MinMemoryRequiredInMb"],
            declared.get("NumberOfCpuCoresRequired", 0),
            declared.get("NumberOfAcceleratorDevicesRequired", 0),
        )
        if not self._fits([needs]):
            raise NoRoomError
        with self._lock:
            while True:
                for host in self._hosts().values():
                    if self._fits([*host.reserved(), needs]):
                        return self._slot(host, variant, needs)
                if not self.grow():
                    raise NoRoomError

    def give_back(self, pool: Pool) -> None:
        """Free the reservation of an ended copy."""
        assert isinstance(pool, Slot)
        with self._lock:
            pool.host.slots.remove(pool)
            pool.host.idle_since = time.monotonic()

    def grow(self) -> bool:
        """Add an instance; return False if the maximum is reached."""
        with self._lock:
            return self._add()

    def release_idle(self, seconds: float, most: int) -> int:
        """End up to `most` instances without a copy for `seconds`; return their number."""
        with self._lock:
            latest = time.monotonic() - seconds
            idle = [
                instance
                for instance, host in self._hosts().items()
                if not host.slots and host.idle_since <= latest
            ][: max(0, most)]
            self._fleet.end(idle)
            return len(idle)

    def _hosts(self) -> "dict[Instance, CopyHost]":
        serving = (
            instance for instances in self._fleet.serving().values() for instance in instances
        )
        return {instance: host for instance in serving if (host := CopyHost.find(instance))}

    def _fits(self, needs: list[Resources]) -> bool:
        rejected = REJECTED_MIB.get(self._type)
        total = Resources.total(needs)
        return self._resources.holds(total) and (rejected is None or total.memory < rejected)

    def _slot(self, host: CopyHost, variant: Mapping[str, Any], needs: Resources) -> Slot:
        model, component = variant["ModelName"], variant["VariantName"]
        taken = {slot.number for slot in host.slots if slot.component == component}
        number = next(free for free in range(1, len(taken) + 2) if free not in taken)
        slot = Slot(
            self._type,
            model,
            metrics_by_type=False,
            host=host,
            component=component,
            number=number,
            needs=needs,
        )
        host.slots.append(slot)
        return slot
