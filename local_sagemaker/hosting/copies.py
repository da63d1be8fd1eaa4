"""Placement of inference component copies on instances, according to their reservations.

A reservation does not limit the memory that a copy uses: "a scheduling reservation, not a cap"
(huggingface/skills, hf-cloud-sagemaker-production-defaults, measured on AWS). On ml.g5.xlarge with
16 GiB, AWS accepted 1024 MB and rejected 4096 MB; the share of the memory that can be reserved is
not documented. Here all memory can be reserved, except in the case that AWS rejected.
"""

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.hosting.capacity import Resources
from local_sagemaker.hosting.container import ModelStatus
from local_sagemaker.hosting.instance import Instance, RunningServer
from local_sagemaker.hosting.pools import Pool

if TYPE_CHECKING:
    from local_sagemaker.hosting.fleet import Fleet

NO_ROOM = (
    "There is not enough hardware resources on the instances for this endpoint to create a copy of "
    "the inference component."
)
"""FailureReason. Source: see the module's docstring."""

REJECTED_MIB = {"ml.g5.xlarge": 4096}
"""Instance type -> smallest reservation that AWS rejected."""


class NoRoomError(LocalSageMakerError):
    """No instance has enough free resources for a copy, and no instance may be added."""

    def __init__(self) -> None:
        super().__init__(NO_ROOM)


@dataclass(frozen=True, eq=False, kw_only=True)
class Slot(Pool):
    """A copy's reservation on an instance. `number` distinguishes copies of one component there.

    `instances` is empty until the copy starts, and then contains the `Instance` that runs it.
    """

    host: "CopyHost"
    component: str
    number: int
    reservation: Resources
    instances: list[Instance] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of the copy on its instance."""
        return f"{self.component}/{self.number}"


class CopyHost:
    """An instance that hosts copies: both the server and the container of its `Instance`.

    Its resource usage is the sum of the usage of its copies.
    """

    loaded_models = None
    is_loading = False

    def __init__(self, instance_id: str, variant: Mapping[str, Any]) -> None:
        self.id, self.variant = instance_id, str(variant["VariantName"])
        self.resources = resources_of(variant["InstanceType"])
        self.slots: list[Slot] = []
        self.idle_since = time.monotonic()
        self._ended = threading.Event()

    @staticmethod
    def find(instance: Instance) -> "CopyHost | None":
        """Return an instance's copy host; None if the instance has a model or has not started."""
        container: Any = instance.healthy_server and instance.healthy_server.container
        return container if isinstance(container, CopyHost) else None

    def wait_until_healthy(self, timeout: float) -> None:
        """Return immediately, because the host has no container."""

    def failed_ping(self, timeout: float) -> None:
        """Return None, because the host has no container to ping."""

    def wait(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds; return whether the host has ended."""
        return self._ended.wait(timeout)

    def stop(self) -> None:
        """End the host and its copies."""
        self._ended.set()
        for copy in list(self._copies()):
            copy.stop()

    def resident_bytes(self) -> int:
        """Return the memory of the copies in bytes."""
        return sum(server.triton.resident_bytes() for server in self.servers())

    def cpu_seconds(self) -> float:
        """Return the processor time of the copies in seconds."""
        return sum(server.triton.cpu_seconds() for server in self.servers())

    @property
    def disk_bytes(self) -> int:
        """The size of the copies' models on the volume."""
        return sum(server.container.disk_bytes for server in self.servers())

    def statuses(self) -> list[ModelStatus]:
        """Return the status of each copy, as a model with the name of the copy."""
        return [
            replace(status, target_model=slot.name)
            for slot in list(self.slots)
            for copy in slot.instances
            if copy.healthy_server
            for status in copy.healthy_server.container.statuses()
        ]

    def reservations(self) -> list[Resources]:
        """Return the reservations of the copies."""
        return [slot.reservation for slot in list(self.slots)]

    def reserved_percentages(self) -> Resources:
        """Return the reserved percentage of each resource."""
        shares = zip(
            astuple(Resources.total(self.reservations())), astuple(self.resources), strict=True
        )
        return Resources(
            *(round(100 * reserved / total, 2) if total else 0 for reserved, total in shares)
        )

    def _copies(self) -> Iterator[Instance]:
        return (copy for slot in list(self.slots) for copy in slot.instances)

    def servers(self) -> Iterator[RunningServer]:
        """Return the servers of the healthy copies."""
        return (server for copy in self._copies() if (server := copy.healthy_server))


def resources_of(instance_type: str) -> Resources:
    """Return the resources of an instance type that CreateEndpointConfig has validated."""
    resources = Resources.for_type(instance_type)
    assert resources is not None
    return resources


class Placement:
    """Placement of copies on the instances of an endpoint's `fleet`.

    `add_instance` returns False if the endpoint has its maximum number of instances. A copy is
    placed on the first instance with enough resources; which instance SageMaker chooses without a
    SchedulingConfig is not documented.
    """

    def __init__(
        self, fleet: "Fleet", instance_type: str, add_instance: Callable[[], bool]
    ) -> None:
        self._fleet, self._type, self._add_instance = fleet, instance_type, add_instance
        self._resources = resources_of(instance_type)
        self._lock = threading.RLock()

    def take(self, variant: Mapping[str, Any]) -> Slot:
        """Reserve resources for a copy, on a new instance if necessary. Raise `NoRoomError`."""
        requirements = variant["ComputeResourceRequirements"]
        reservation = Resources(
            requirements["MinMemoryRequiredInMb"],
            requirements.get("NumberOfCpuCoresRequired", 0),
            requirements.get("NumberOfAcceleratorDevicesRequired", 0),
        )
        if not self._fits([reservation]):
            raise NoRoomError
        with self._lock:
            while True:
                for host in self._hosts().values():
                    if self._fits([*host.reservations(), reservation]):
                        return self._add_slot(host, variant, reservation)
                if not self.add_instance():
                    raise NoRoomError

    def give_back(self, pool: Pool) -> None:
        """Free the reservation of an ended copy."""
        assert isinstance(pool, Slot)
        with self._lock:
            pool.host.slots.remove(pool)
            pool.host.idle_since = time.monotonic()

    def add_instance(self) -> bool:
        """Add an instance; return False if the maximum is reached."""
        with self._lock:
            return self._add_instance()

    def release_idle_instances(self, seconds: float, max_count: int) -> int:
        """End up to `max_count` instances that had no copy for `seconds`; return their number."""
        with self._lock:
            idle_before = time.monotonic() - seconds
            idle = [
                instance
                for instance, host in self._hosts().items()
                if not host.slots and host.idle_since <= idle_before
            ][: max(0, max_count)]
            self._fleet.end(idle)
            return len(idle)

    def _hosts(self) -> dict[Instance, CopyHost]:
        serving = (
            instance for instances in self._fleet.serving().values() for instance in instances
        )
        return {instance: host for instance in serving if (host := CopyHost.find(instance))}

    def _fits(self, reservations: list[Resources]) -> bool:
        rejected_mib = REJECTED_MIB.get(self._type)
        total = Resources.total(reservations)
        return self._resources.holds(total) and (
            rejected_mib is None or total.memory < rejected_mib
        )

    def _add_slot(self, host: CopyHost, variant: Mapping[str, Any], reservation: Resources) -> Slot:
        model, component = variant["ModelName"], variant["VariantName"]
        used_numbers = {slot.number for slot in host.slots if slot.component == component}
        number = next(free for free in itertools.count(1) if free not in used_numbers)
        slot = Slot(
            self._type,
            model,
            metrics_by_type=False,
            host=host,
            component=component,
            number=number,
            reservation=reservation,
        )
        host.slots.append(slot)
        return slot
