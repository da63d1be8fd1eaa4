"""Instance pools of production variants, and the available capacity per instance type."""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local_sagemaker.errors import LocalSageMakerError

if TYPE_CHECKING:
    from local_sagemaker.hosting.instance import Instance

NO_CAPACITY = (
    "Unable to provision requested ML compute capacity due to InsufficientInstanceCapacity error. "
    "Please retry using a different ML instance type or after some time. Consider configuring "
    "InstancePools in your EndpointConfig with multiple instance types for priority-based fallback "
    "to improve capacity availability."
)
"""FailureReason; source: aws/deep-learning-containers, test of SageMaker endpoints."""

ONE_TYPE_SECONDS = 31 * 60
"""Time until a variant of one type fails. Source: mikegc-aws/strands-decider-triton, README."""
POOLS_SECONDS = 20 * 60
"""Time until pools without a timeout fail: no source; a timeout of 900 s took 20 minutes."""


class NoCapacityError(LocalSageMakerError):
    """No instance type of a variant has capacity; SageMaker fails after `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__(NO_CAPACITY)
        self.seconds = seconds


@dataclass(frozen=True)
class Pool:
    """A variant's instances of one type, which serve the Model `model_name`.

    Instances that host inference components have no Model. `metrics_by_type` is whether metrics
    have the dimension InstanceType.
    """

    instance_type: str
    model_name: str | None
    metrics_by_type: bool = True

    def hold(self, instance: "Instance") -> None:
        """Do nothing; a `Slot` remembers its instance."""


def pools(variant: Mapping[str, Any]) -> list[Pool]:
    """Return the pools of a variant by priority; one pool for a variant with an InstanceType."""
    if "InstancePools" not in variant:
        return [Pool(variant["InstanceType"], variant.get("ModelName"), metrics_by_type=False)]
    return [
        Pool(pool["InstanceType"], pool.get("ModelNameOverride", variant["ModelName"]))
        for pool in sorted(variant["InstancePools"], key=lambda pool: int(pool["Priority"]))
    ]


class Capacities:
    """The number of available and used instances by type; types without a limit are unlimited."""

    def __init__(self, limits: Mapping[str, int] | None = None) -> None:
        self._limits = dict(limits or {})
        self._used = Counter[str]()
        self._lock = threading.Lock()

    def take(self, variant: Mapping[str, Any]) -> Pool:
        """Return the first pool of a variant with capacity, and count one more instance in use.

        Raise `NoCapacityError`.
        """
        with self._lock:
            for pool in pools(variant):
                limit = self._limits.get(pool.instance_type)
                if limit is None or self._used[pool.instance_type] < limit:
                    self._used[pool.instance_type] += 1
                    return pool
        timeout = variant.get("VariantInstanceProvisionTimeoutInSeconds", POOLS_SECONDS)
        raise NoCapacityError(timeout if "InstancePools" in variant else ONE_TYPE_SECONDS)

    def give_back(self, pool: Pool) -> None:
        """Count one instance less in use."""
        with self._lock:
            self._used[pool.instance_type] -= 1


def described(variant: Mapping[str, Any], types: Sequence[str], count: int) -> list[dict[str, Any]]:
    """Return a variant's InstancePools, as in DescribeEndpoint, for `count` instances.

    `types` are the instance types of the local processes. If there are fewer processes than
    instances, the remaining instances count as the last type.
    """
    running = Counter(types)
    if types:
        running[types[-1]] += count - len(types)
    return [
        {
            "InstanceType": pool.instance_type,
            "CurrentInstanceCount": running[pool.instance_type],
        }
        for pool in pools(variant)
    ]
