"""Instance pools of production variants, and the available capacity per instance type."""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from local_sagemaker.errors import LocalSageMakerError

NO_CAPACITY = (
    "Unable to provision requested ML compute capacity due to InsufficientInstanceCapacity error. "
    "Please retry using a different ML instance type or after some time. Consider configuring "
    "InstancePools in your EndpointConfig with multiple instance types for priority-based fallback "
    "to improve capacity availability."
)
"""FailureReason; source: aws/deep-learning-containers, test of SageMaker endpoints."""

SINGLE_TYPE_SECONDS = 31 * 60
"""Time until a variant with one instance type fails. Source: mikegc-aws/strands-decider-triton,
README."""
POOLS_SECONDS = 20 * 60
"""Time until a variant with pools fails if it has no timeout of its own. An assumption without a
source: on AWS, a variant with a timeout of 900 s failed after 20 minutes."""


class NoCapacityError(LocalSageMakerError):
    """No instance type of a variant has capacity. On AWS, the operation fails after `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__(NO_CAPACITY)
        self.seconds = seconds


@dataclass(frozen=True)
class Pool:
    """An instance pool: a variant's instances of one type, which serve the Model `model_name`.

    Instances that host inference components have no Model. If `metrics_by_type`, metrics have the
    dimension InstanceType.
    """

    instance_type: str
    model_name: str | None
    metrics_by_type: bool = True


def pools(variant: Mapping[str, Any]) -> list[Pool]:
    """Return a variant's pools by priority; a variant with an InstanceType has one pool."""
    if "InstancePools" not in variant:
        return [Pool(variant["InstanceType"], variant.get("ModelName"), metrics_by_type=False)]
    return [
        Pool(pool["InstanceType"], pool.get("ModelNameOverride", variant["ModelName"]))
        for pool in sorted(variant["InstancePools"], key=lambda pool: int(pool["Priority"]))
    ]


class Capacities:
    """Counts of available and used instances by type. Types without a limit are unlimited."""

    def __init__(self, limits: Mapping[str, int] | None = None) -> None:
        self._limits = dict(limits or {})
        self._used = Counter[str]()
        self._lock = threading.Lock()

    def take(self, variant: Mapping[str, Any]) -> Pool:
        """Return the first pool of a variant with capacity, and count one more used instance.

        Raise `NoCapacityError`.
        """
        with self._lock:
            for pool in pools(variant):
                limit = self._limits.get(pool.instance_type)
                if limit is None or self._used[pool.instance_type] < limit:
                    self._used[pool.instance_type] += 1
                    return pool
        timeout = variant.get("VariantInstanceProvisionTimeoutInSeconds", POOLS_SECONDS)
        raise NoCapacityError(timeout if "InstancePools" in variant else SINGLE_TYPE_SECONDS)

    def give_back(self, pool: Pool) -> None:
        """Count one used instance less."""
        with self._lock:
            self._used[pool.instance_type] -= 1


def describe_pools(variant: Mapping[str, Any], types: Iterable[str]) -> list[dict[str, Any]]:
    """Return a variant's InstancePools, as in DescribeEndpoint, with instances of these types."""
    counts = Counter(types)
    return [
        {
            "InstanceType": pool.instance_type,
            "CurrentInstanceCount": counts[pool.instance_type],
        }
        for pool in pools(variant)
    ]
