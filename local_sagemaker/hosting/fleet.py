"""The instances behind an endpoint: what DescribeEndpoint -> EndpointConfig -> Model say."""

import logging
import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from local_sagemaker.errors import ApiError, LocalSageMakerError
from local_sagemaker.hosting.instance import Instance, Running
from local_sagemaker.hosting.launch import Host, begin
from local_sagemaker.hosting.pools import Capacities, Pool, pools

DRAIN_SECONDS = 30
"""What an instance that is ended gets for its calls. Source: developer guide, "Use Your Own
Inference Code with Hosting Services": SIGTERM, and SIGKILL 30 seconds later."""

MANY_CALLS = 8

_log = logging.getLogger(__name__)


class Fleet:
    """The running instances of one endpoint configuration, by variant.

    `config` is its name. `counts` are the instances as SageMaker counts them: where they are more
    than this machine starts, several have one process.
    """

    def __init__(self) -> None:
        self.config = ""
        self.counts: dict[str, int] = {}
        self._serving: dict[str, list[Instance]] = {}
        self._all: list[Instance] = []
        self._changed = threading.Condition()
        self._stopped = False

    def start(
        self,
        host: Host,
        endpoint: str,
        config: dict[str, Any],
        models: dict[str, dict[str, Any]],
        counts: Mapping[str, int],
    ) -> None:
        """Start every variant and wait until its instances are healthy.

        `config` is an EndpointConfig and `models` are the Models by name, as the API describes
        them; `counts` are instances by variant. Raises `LocalSageMakerError` with the reason, also
        when another thread calls `stop` before this returns; what was started waits for `stop`.
        """
        self._kinds = {
            it["VariantName"]: _Kind.of(host, endpoint, it, models)
            for it in config["ProductionVariants"]
        }
        self.config = config["EndpointConfigName"]
        self._most, self._most_failed_pings = host.instances, host.most_failed_pings
        self._serving = {name: [] for name in self._kinds}
        self.scale(counts)

    def scale(self, counts: Mapping[str, int]) -> None:
        """Start instances until every variant has its count, and end those beyond it.

        Those that end finish their calls first. Raises as `start` does; the instances that served
        before go on.
        """
        wanted = {name: min(count, self._most) for name, count in counts.items()}
        for name, count in counts.items():
            if count > self._most:
                _log.warning(
                    "%d processes stand for the %d instances of variant %s: up --instances",
                    self._most,
                    count,
                    name,
                )
        self._grow(wanted)
        self.counts = {**self.counts, **counts}
        self._shrink(wanted)

    def serving(self) -> dict[str, list[Instance]]:
        """Return the instances that answer, by variant."""
        with self._changed:
            return {name: list(instances) for name, instances in self._serving.items()}

    def instances(self) -> list[Instance]:
        """Return all of them, also those that start or leave."""
        with self._changed:
            return list(self._all)

    def choose(
        self,
        weights: Mapping[str, float],
        *,
        target_model: str | None = None,
        target_variant: str | None = None,
    ) -> Instance:
        """Choose the instance that shall answer an invocation, and count it until `release`.

        `weights` are by variant. Raises `ApiError`.
        """
        with self._changed:
            variant = _variant(weights, target_variant)
            instance = _least_busy(self._serving[variant], target_model)
            instance.calls += 1
            instance.most_calls = max(instance.most_calls, instance.calls)
        return instance

    def release(self, instance: Instance) -> None:
        """Count an invocation as answered."""
        with self._changed:
            instance.calls -= 1
            if not instance.calls:
                self._changed.notify_all()

    def drain(self, timeout: float) -> None:
        """Return when no invocation is under way, or after `timeout` seconds."""
        instances = self.instances()
        for instance in instances:
            instance.leave()
        self._wait_for_calls(instances, timeout)

    def stop(self) -> None:
        """End every instance, also of a fleet that is starting, and delete what it downloaded."""
        with self._changed:
            self._stopped = True
            instances = list(self._all)
        for instance in instances:
            instance.stop()

    def _grow(self, wanted: Mapping[str, int]) -> None:
        new: list[Instance] = []
        try:
            for name, count in wanted.items():
                kind, added = self._kinds[name], range(count - len(self._serving[name]))
                new.extend(kind.instance(name, self._most_failed_pings) for _ in added)
            for instance in new:
                self._add(instance)
            for instance in new:
                instance.wait_until_healthy(self._kinds[instance.variant].seconds)
            self._refuse_stopped()
        except BaseException:
            for instance in new:
                instance.stop()
            self._forget(new)
            raise
        with self._changed:
            for instance in new:
                serving = self._serving[instance.variant]
                serving.append(instance)
                # Those of the least preferred type end first.
                serving.sort(key=self._kinds[instance.variant].preference)

    def _shrink(self, wanted: Mapping[str, int]) -> None:
        with self._changed:
            leaving = [it for name, count in wanted.items() for it in self._serving[name][count:]]
            for name, count in wanted.items():
                del self._serving[name][count:]
        for instance in leaving:
            instance.leave()
        self._wait_for_calls(leaving, DRAIN_SECONDS)
        for instance in leaving:
            instance.stop()
        self._forget(leaving)

    def _wait_for_calls(self, instances: list[Instance], timeout: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not any(it.calls for it in instances), timeout)

    def _add(self, instance: Instance) -> None:
        """Take an instance in before anything else can go wrong: `stop` ends it from now on."""
        self._refuse_stopped()
        with self._changed:
            self._all.append(instance)
        instance.start()

    def _forget(self, ended: list[Instance]) -> None:
        with self._changed:
            self._all = [it for it in self._all if it not in ended]

    def _refuse_stopped(self) -> None:
        with self._changed:
            if self._stopped:
                raise LocalSageMakerError("the instances were stopped while they started")


def _variant(weights: Mapping[str, float], target: str | None) -> str:
    if target is not None:
        if target not in weights:
            known = ", ".join(weights)
            raise ApiError(
                "ValidationError", f"Variant {target} not found; the endpoint has {known}."
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
    """Return the healthy instance with the fewest calls under way, of those that have the model.

    Source: developer guide, "How multi-model endpoints work": requests for a model go to the
    instance that has it, and some to another one if there are many. How many is not said: as many
    as Triton has threads is our choice.
    """
    if len(instances) == 1:
        return instances[0]
    healthy = [it for it in instances if it.healthy] or instances
    having = [it for it in healthy if it.has(target_model) and it.calls < MANY_CALLS]
    return min(having or healthy, key=lambda it: it.calls)


@dataclass(frozen=True)
class _Kind:
    """How a variant's instances start, and the seconds that each has to become healthy."""

    variant: dict[str, Any]
    begin: Callable[[Pool], Running]
    capacities: Capacities
    seconds: float

    @classmethod
    def of(
        cls, host: Host, endpoint: str, variant: dict[str, Any], models: dict[str, dict[str, Any]]
    ) -> "_Kind":
        def start(pool: Pool) -> Running:
            of_type = {**variant, "InstanceType": pool.instance_type}
            return begin(host, endpoint, of_type, models[pool.model_name])

        seconds = variant.get("ContainerStartupHealthCheckTimeoutInSeconds", 600)
        return cls(variant, start, host.capacities, seconds)

    def instance(self, name: str, most_failed_pings: int | None) -> Instance:
        """Return an instance of the first type with capacity. Raise `NoCapacityError`."""
        pool = self.capacities.take(self.variant)
        return Instance(
            name,
            partial(self.begin, pool),
            most_failed_pings=most_failed_pings,
            pool=pool,
            ended=partial(self.capacities.give_back, pool),
        )

    def preference(self, instance: Instance) -> int:
        """Return the place of an instance's type among the variant's."""
        return pools(self.variant).index(instance.pool) if instance.pool else 0
