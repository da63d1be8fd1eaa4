"""The instance types of a production variant, and how many instances of each AWS has."""

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
"""FailureReason, verbatim in aws/deep-learning-containers, test of SageMaker endpoints."""

ONE_TYPE_SECONDS = 31 * 60
"""Until a variant of one type fails: measured in public README files (mikegc-aws/strands-decider-
triton)."""
POOLS_SECONDS = 20 * 60
"""Until pools without a time-out fail: no source; a time-out of 900 s ended after 20 minutes."""


class NoCapacityError(LocalSageMakerError):
    """No type of a variant has capacity; `seconds` are those after which SageMaker gives up."""

    def __init__(self, seconds: float) -> None:
        super().__init__(NO_CAPACITY)
        self.seconds = seconds


@dataclass(frozen=True)
class Pool:
    """Instances of one type of a variant, which serve the Model `model_name`.

    Instances that host inference components have no Model. `metrics_by_type` is whether metrics
    have the type as a dimension.
    """

    instance_type: str
    model_name: str | None
    metrics_by_type: bool = True

    def hold(self, instance: "Instance") -> None:
        """Note the instance that was taken out of it."""


def pools(variant: Mapping[str, Any]) -> list[Pool]:
    """Return the pools of a variant, the preferred first; one of a variant with an InstanceType."""
    if "InstancePools" not in variant:
        return [Pool(variant["InstanceType"], variant.get("ModelName"), metrics_by_type=False)]
    return [
        Pool(pool["InstanceType"], pool.get("ModelNameOverride", variant["ModelName"]))
        for pool in sorted(variant["InstancePools"], key=lambda pool: int(pool["Priority"]))
    ]


class Capacities:
    """The available instances of each type; a type without a `limit` has any number."""

    def __init__(self, limits: Mapping[str, int] | None = None) -> None:
        self._limits = dict(limits or {})
        self._used = Counter[str]()
        self._lock = threading.Lock()

    def take(self, variant: Mapping[str, Any]) -> Pool:
        """Return the first pool of a variant with capacity, and count an instance of it.

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
        """Count an instance that has ended."""
        with self._lock:
            self._used[pool.instance_type] -= 1


def described(variant: Mapping[str, Any], types: Sequence[str], count: int) -> list[dict[str, Any]]:
    """Return a variant's InstancePools, as DescribeEndpoint has them, of `count` instances.

    `types` are those that run here; where they stand for more, the rest is of the last type.
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
