"""The running instances of an endpoint configuration."""

import logging
import random
import threading
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from local_sagemaker.errors import ApiError, LocalSageMakerError
from local_sagemaker.hosting.copies import Placement, Slot
from local_sagemaker.hosting.instance import STOPPED, Instance
from local_sagemaker.hosting.launch import Host, start_server
from local_sagemaker.hosting.pools import Capacities, Pool, pools

DRAIN_SECONDS = 30
"""Maximum time in which an ending instance can finish its calls. Source: developer guide, "Use Your
Own Inference Code with Hosting Services": SIGTERM, and SIGKILL 30 seconds later."""

POLL_SECONDS = 0.05
"""Poll interval while waiting for the calls of ending instances."""

STARTUP_TIMEOUT, STARTUP_SECONDS = "ContainerStartupHealthCheckTimeoutInSeconds", 600

MANY_CALLS = 8
"""Number of calls from which an instance does not get more calls because it has the model."""

_log = logging.getLogger(__name__)


class Fleet:
    """The running instances of one endpoint configuration, by variant.

    `config` is the name of the configuration. `counts` are the instance counts of the variants,
    which may be larger than the number of local processes: an instance without a process only has
    its share of the capacity.

    With a `placement`, the fleet is an inference component: it has one variant, whose instances are
    the copies. Each copy has a process, and a slot on one of the endpoint's instances.
    """

    def __init__(self, placement: Placement | None = None) -> None:
        self._placement = placement
        self.config = ""
        self.counts: dict[str, int] = {}
        self._variants: dict[str, dict[str, Any]] = {}
        self._serving: dict[str, list[Instance]] = {}
        self._without_process: dict[str, list[Pool]] = {}
        self._instances: list[Instance] = []
        self._lock = threading.Lock()
        self._stopped = False

    def start(
        self,
        host: Host,
        endpoint: str,
        config: dict[str, Any],
        models: dict[str, dict[str, Any]],
        counts: Mapping[str, int],
    ) -> None:
        """Start the instances of every variant, and wait until they are healthy.

        `config` is a response of DescribeEndpointConfig, `models` are responses of DescribeModel by
        name, and `counts` the number of instances by variant. Raise `LocalSageMakerError` on
        failure, also if another thread calls `stop` meanwhile; then the caller must call `stop`.
        """
        self._host, self._endpoint, self._models = host, endpoint, models
        self.reconfigure(config)
        self._serving = {name: [] for name in self._variants}
        self._without_process = {name: [] for name in self._variants}
        self.scale(counts)

    def scale(self, counts: Mapping[str, int]) -> None:
        """Start or end instances until every variant in `counts` has this number of instances.

        Instances that end finish their calls first. Raise as `start` does; then the previous
        instances keep serving.
        """
        self._grow(counts)
        self.counts = {**self.counts, **counts}
        self._shrink(counts)

    @property
    def serves_component(self) -> bool:
        """Whether the instances are the copies of an inference component."""
        return self._placement is not None

    def serving(self) -> dict[str, list[Instance]]:
        """Return the serving instances by variant."""
        with self._lock:
            return {name: list(instances) for name, instances in self._serving.items()}

    def instance_types(self, variant: str) -> list[str]:
        """Return the type of each serving instance of a variant in instance pools."""
        with self._lock:
            serving = [instance.pool for instance in self._serving[variant] if instance.pool]
            return [pool.instance_type for pool in serving + self._without_process[variant]]

    def instances(self) -> list[Instance]:
        """Return all instances, including those that start or leave."""
        with self._lock:
            return list(self._instances)

    def choose(
        self,
        weights: Mapping[str, float],
        *,
        target_model: str | None = None,
        target_variant: str | None = None,
    ) -> Instance | None:
        """Choose an instance for an invocation, which is in progress until `Instance.invoke` ends.

        `weights` are the weights of the variants. Return None if the variant has no instance. Raise
        `ApiError`.
        """
        with self._lock:
            variant = _choose_variant(weights, target_variant)
            if not self._serving[variant]:
                return None
            instance = _least_busy(self._serving[variant], target_model)
            instance.calls += 1
            instance.max_calls = max(instance.max_calls, instance.calls)
        return instance

    def reconfigure(self, config: dict[str, Any]) -> None:
        """Replace the configuration by one with the same variant names and instance types."""
        self._variants = {
            variant["VariantName"]: variant for variant in config["ProductionVariants"]
        }
        self.config = config["EndpointConfigName"]

    def end(self, leaving: list[Instance]) -> None:
        """End instances after they have finished their calls."""
        with self._lock:
            for instance in leaving:
                self._serving[instance.variant].remove(instance)
                self.counts[instance.variant] -= 1
        self._drain_and_end(leaving)

    def drain(self, timeout: float) -> None:
        """Wait until no invocation is in progress, or for `timeout` seconds."""
        instances = self.instances()
        for instance in instances:
            instance.leave()
        _wait_for_calls(instances, timeout)

    def stop(self) -> None:
        """End all instances, also starting ones, and delete their downloads."""
        with self._lock:
            self._stopped = True
            instances = list(self._instances)
            freed = [pool for pools in self._without_process.values() for pool in pools]
            self._without_process = {name: [] for name in self._variants}
        self._give_back(freed)
        for instance in instances:
            instance.stop()

    def _processes(self, name: str, count: int) -> int:
        """Return the number of local instances for a variant's instance count.

        There is no limit for copies of inference components, and for instances that host copies,
        because these instances have no process.
        """
        limit = self._host.max_processes
        if count <= limit or self._placement or "ModelName" not in self._variants[name]:
            return count
        message = "%d processes stand for the %d instances of variant %s: up --instances"
        _log.warning(message, limit, count, name)
        return limit

    def _grow(self, counts: Mapping[str, int]) -> None:
        """Take the capacity of all missing instances, then start processes for them."""
        new: list[Instance] = []
        without_process: dict[str, list[Pool]] = {name: [] for name in counts}
        try:
            for name, count in counts.items():
                processes = self._processes(name, count) - len(self._serving[name])
                missing = count - len(self._serving[name]) - len(self._without_process[name])
                for number in range(missing):
                    pool = self._allocator.take(self._variants[name])
                    if number < processes:
                        new.append(self._create_instance(self._variants[name], pool))
                    else:
                        without_process[name].append(pool)
            for instance in new:
                with self._lock:
                    self._check_not_stopped()
                    self._instances.append(instance)  # before it starts, so that `stop` ends it
                instance.start()
            for instance in new:
                variant = self._variants[instance.variant]
                instance.wait_until_healthy(variant.get(STARTUP_TIMEOUT, STARTUP_SECONDS))
            with self._lock:
                self._check_not_stopped()
                for instance in new:
                    self._serving[instance.variant].append(instance)
                for name, pools in without_process.items():
                    self._without_process[name].extend(pools)
                    # Instances of the least preferred type end first.
                    preference = partial(_preference, self._variants[name])
                    self._serving[name].sort(key=lambda instance: preference(instance.pool))
                    self._without_process[name].sort(key=preference)
        except BaseException:
            self._end(new)
            for pools in without_process.values():
                self._give_back(pools)
            raise

    @property
    def _allocator(self) -> Placement | Capacities:
        return self._placement or self._host.capacities

    def _give_back(self, pools: list[Pool]) -> None:
        for pool in pools:
            self._allocator.give_back(pool)

    def _create_instance(self, variant: dict[str, Any], pool: Pool) -> Instance:
        """Create an instance in a pool whose capacity is taken."""
        variant_of_type = {**variant, "InstanceType": pool.instance_type}
        model = self._models[pool.model_name] if pool.model_name else None
        slot = pool if isinstance(pool, Slot) else None
        instance = Instance(
            variant["VariantName"],
            partial(start_server, self._host, self._endpoint, variant_of_type, model, slot),
            pool=pool,
            on_stopped=partial(self._allocator.give_back, pool),
        )
        if slot:
            slot.instances.append(instance)
        return instance

    def _shrink(self, counts: Mapping[str, int]) -> None:
        leaving: list[Instance] = []
        freed: list[Pool] = []
        with self._lock:
            for name, count in counts.items():
                serving, without_process = self._serving[name], self._without_process[name]
                leaving += serving[count:]
                del serving[count:]
                kept = count - len(serving)
                freed += without_process[kept:]
                del without_process[kept:]
        self._give_back(freed)
        self._drain_and_end(leaving)

    def _drain_and_end(self, leaving: list[Instance]) -> None:
        for instance in leaving:
            instance.leave()
        _wait_for_calls(leaving, DRAIN_SECONDS)
        self._end(leaving)

    def _end(self, instances: list[Instance]) -> None:
        for instance in instances:
            instance.stop()
        with self._lock:
            self._instances = [
                instance for instance in self._instances if instance not in instances
            ]

    def _check_not_stopped(self) -> None:
        if self._stopped:
            raise LocalSageMakerError(STOPPED)


def _wait_for_calls(instances: list[Instance], timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while any(instance.calls for instance in instances) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)


def _choose_variant(weights: Mapping[str, float], target: str | None) -> str:
    if target is not None:
        if target not in weights:
            names = ", ".join(weights)
            raise ApiError(
                "ValidationError", f"Variant {target} not found; the endpoint has {names}."
            )
        return target
    if len(weights) == 1:
        return next(iter(weights))
    if not any(weights.values()):
        raise ApiError(
            "ValidationError",
            "Every variant has weight 0: name one as TargetVariant or give one a weight.",
        )
    return random.choices(list(weights), list(weights.values()))[0]


def _least_busy(instances: list[Instance], target_model: str | None) -> Instance:
    """Return the least busy healthy instance, preferably one that has loaded the model.

    Source: developer guide, "How multi-model endpoints work": requests for a model go to the
    instance that has it, and to other instances if there are many requests. The number of requests
    is not documented; `MANY_CALLS` is the number of Triton's HTTP threads.
    """
    if len(instances) == 1:
        return instances[0]
    healthy = [instance for instance in instances if instance.healthy_server] or instances
    with_model = [
        instance
        for instance in healthy
        if instance.calls < MANY_CALLS
        and instance.healthy_server
        and instance.healthy_server.container.has(target_model)
    ]
    return min(with_model or healthy, key=lambda instance: instance.calls)


def _preference(variant: Mapping[str, Any], pool: Pool | None) -> int:
    """Return the position of a pool's type among the variant's pools; 0 is preferred."""
    types = [pool.instance_type for pool in pools(variant)]
    return types.index(pool.instance_type) if pool else 0
