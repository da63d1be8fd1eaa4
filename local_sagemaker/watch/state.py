"""The state of the local SageMaker, put together from those who know it."""

import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from local_sagemaker.autoscaling.alarms import HIGH, alarms_of
from local_sagemaker.autoscaling.store import Target
from local_sagemaker.hosting.fleet import Fleet
from local_sagemaker.hosting.instance import Instance
from local_sagemaker.sagemaker.endpoint import Endpoint
from local_sagemaker.settings import GPU_TRACE
from local_sagemaker.watch import schema
from local_sagemaker.watch.alarms import Alarms
from local_sagemaker.watch.events import Events
from local_sagemaker.watch.lookup import Lookup
from local_sagemaker.watch.models import model_name
from local_sagemaker.watch.rates import Traffic

LOOK_SECONDS = 1.0
"""Between two looks at alarms, and at processes, while somebody asks."""

Record = dict[str, Any]
Targets = Mapping[tuple[str, str], Target]


class Usage(NamedTuple):
    """What an instance's processes use: bytes, and percent of one processor since the last look."""

    memory: int
    cpu: float | None


Usages = Mapping[str, Usage]
"""By the id of the instance."""


class Watch:
    """Answers what there is now. `most` is how many processes a variant has at most."""

    def __init__(
        self,
        *,
        endpoints: Callable[[], list[Endpoint]],
        targets: Callable[[], list[Target]],
        cloudwatch: Any,
        events: Events,
        traffic: Traffic,
        speed: float,
        most: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._endpoints, self._targets = endpoints, targets
        self._events, self._traffic = events, traffic
        self._speed, self._most, self._clock = speed, most, clock
        self._started = clock()
        self._processors: dict[str, tuple[float, float]] = {}  # time and seconds used
        alarms = Alarms(cloudwatch, events.tell)
        self._alarms = Lookup(alarms.look, list[schema.Alarm](), seconds=LOOK_SECONDS)
        self._usage = Lookup(self._usages, dict[str, Usage](), seconds=LOOK_SECONDS)

    def state(self, *, after: int = 0, since: float = 0) -> schema.State:
        """Return the state, with the events after a sequence number and the rates since a time."""
        alarms, usage = self._alarms.latest(), self._usage.latest()
        targets = {(it.key.endpoint, it.key.variant): it for it in self._targets()}
        values = {it["name"]: it["value"] for it in alarms}
        endpoints = self._endpoints()
        self._traffic.keep([it.name for it in endpoints])
        return schema.State(
            speed=self._speed,
            started=self._started,
            now=self._clock(),
            gpu_trace=os.environ.get(GPU_TRACE) or None,
            endpoints=[self._endpoint(it, targets, values, usage, since) for it in endpoints],
            alarms=alarms,
            events=self._events.after(after),
        )

    def _usages(self) -> dict[str, Usage]:
        """Return what instances use, by their ids."""
        fleets = (fleet for endpoint in self._endpoints() for fleet in endpoint.fleets)
        instances = (instance for fleet in fleets for instance in fleet.instances())
        before, usages = self._processors, dict[str, Usage]()
        self._processors = {}
        for server in filter(None, (instance.server for instance in instances)):
            now, used = time.monotonic(), server.triton.cpu_seconds()
            self._processors[server.id] = now, used
            then, used_then = before.get(server.id, (now, used))
            share = max(0.0, used - used_then) / (now - then) if now > then else None
            cpu = None if share is None else round(share * 100, 1)
            usages[server.id] = Usage(server.triton.resident_bytes(), cpu)
        return usages

    def _endpoint(
        self,
        endpoint: Endpoint,
        targets: Targets,
        values: Mapping[str, float | None],
        usage: Usages,
        since: float,
    ) -> schema.Endpoint:
        described = endpoint.described()
        fleets = endpoint.fleets
        pending = described.get("PendingDeploymentSummary", {}).get("ProductionVariants", [])
        records = {it["VariantName"]: it for it in [*pending, *described["ProductionVariants"]]}
        configured = {
            it["VariantName"]: (it, plan.models[it["ModelName"]])
            for plan in (endpoint.coming, endpoint.plan)
            for it in plan.config["ProductionVariants"]
        }
        return schema.Endpoint(
            name=endpoint.name,
            status=described["EndpointStatus"],
            configuration=described["EndpointConfigName"],
            failure=described.get("FailureReason"),
            variants=[
                schema.Variant(
                    name=name,
                    weight=record["CurrentWeight"],
                    instance_type=configured[name][0].get("InstanceType", ""),
                    container_mode=_mode(configured[name][1]),
                    current_count=record["CurrentInstanceCount"],
                    desired_count=record["DesiredInstanceCount"],
                    scaling=_scaling(targets.get((endpoint.name, name)), values),
                    processes_at_most=(
                        self._most if record["DesiredInstanceCount"] > self._most else None
                    ),
                    instances=list(_instances(fleets, name, usage)),
                    rates=self._traffic.of(endpoint.name, name, since),
                )
                for name, record in sorted(records.items())
            ],
        )


def _mode(model: Record) -> str:
    container = model.get("PrimaryContainer") or model["Containers"][0]
    return str(container.get("Mode", "SingleModel"))


def _scaling(target: Target | None, values: Mapping[str, float | None]) -> schema.Scaling | None:
    if target is None:
        return None
    smallest, largest = target.limits
    policies = [_policy(it, values) for it in target.policies.values()]
    return schema.Scaling(min=smallest, max=largest, policies=policies)


def _policy(record: Record, values: Mapping[str, float | None]) -> schema.Policy:
    configuration = record["TargetTrackingScalingPolicyConfiguration"]
    predefined = configuration.get("PredefinedMetricSpecification", {})
    customized = configuration.get("CustomizedMetricSpecification", {})
    return schema.Policy(
        name=record["PolicyName"],
        metric=predefined.get("PredefinedMetricType") or customized.get("MetricName", ""),
        target=configuration["TargetValue"],
        value=values.get(alarms_of(record).get(HIGH, "")),
    )


def _instances(fleets: Iterable[Fleet], variant: str, usage: Usages) -> Iterable[schema.Instance]:
    for fleet in fleets:
        for instance in fleet.instances():
            if instance.variant == variant:
                yield from _instance(instance, usage)


def _instance(instance: Instance, usage: Usages) -> Iterable[schema.Instance]:
    """Yield an instance, unless it has ended, or its next server is not there yet."""
    server = instance.server
    if server is None:
        return
    used = usage.get(server.id)
    yield schema.Instance(
        id=server.id,
        state=instance.state,
        calls=instance.calls,
        memory=used.memory if used else None,
        memory_limit=server.capacity.memory,
        disk=server.container.disk_bytes,
        disk_limit=server.capacity.disk,
        cpu=used.cpu if used else None,
        models=[
            schema.Model(
                target=it.target_model,
                name=model_name(it.target_model),
                state=it.phase,
                since=it.since,
                calls=it.calls,
                answered=it.answered,
                disk=it.bytes,
            )
            for it in server.container.statuses()
        ],
    )
