"""The state of the local SageMaker as a JSON document. Times are Unix seconds. Its members:

- `speed`, the factor by which AWS's time is accelerated; `started`, the start of this run; `now`
- `endpoints`: `name`, `status` (SageMaker's), `configuration`, `failure` (the FailureReason, or
  null), `variants`
- `variants`: `name`, `weight`, `instance_type`, `container_mode` (null if its instances host
  inference components), `current_count`, `desired_count`, `processes_at_most` (null unless fewer
  processes stand for its instances), `scaling`, `components`, `instances`, `rates`
- `components`: `name`, `status`, `failure`, `scaling`, `current_count`, `desired_count` (of copies)
- `scaling`, null without a target: `min` and `max` of the scalable target, and its `policies`
  (`name`, `metric`, `target`, the latest `value` or null)
- `instances`: `id` (also in the name of its log stream), `state` (starting, serving, leaving),
  `calls` in progress, `memory`, `memory_limit`, `disk`, `disk_limit` in bytes, `cpu` in percent of
  one processor, `models`; null if not measured yet
- `models`: `target` (the archive, or `COMPONENT/NUMBER` for a copy of a component), `name` (the
  catalog's), `state` (downloading, loading, loaded, unloading) `since` a time, `calls` in progress,
  `answered` so far, `disk` in bytes
- `rates`, by second from `first` on, of completed calls: `calls`, `errors`, and `p50` and `p95` in
  milliseconds, null without calls
- `alarms`: `name`, `endpoint` and `variant` of its dimensions or null, `watches` (metric or
  expression), `condition`, the latest `value` or null, `state` `since` a time
- `events`: `sequence` from 1, `time`, `kind`, `message`, and `endpoint`, `variant`, `instance`,
  `model`, `name` (the catalog's) or null
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from local_sagemaker.autoscaling.alarms import HIGH, alarm_names
from local_sagemaker.autoscaling.targets import TRACKING_CONFIGURATION, RegisteredTarget
from local_sagemaker.hosting.instance import Instance
from local_sagemaker.hosting.pools import pools
from local_sagemaker.metrics.processors import Processors
from local_sagemaker.sagemaker.component import Component
from local_sagemaker.sagemaker.endpoint import Endpoint
from local_sagemaker.watch.alarms import Alarms
from local_sagemaker.watch.events import Events
from local_sagemaker.watch.lookup import CachedLookup
from local_sagemaker.watch.models import model_name
from local_sagemaker.watch.rates import Traffic

POLL_SECONDS = 1.0
"""Minimum interval of reading alarms and processes; they are only read while a page polls."""

Record = dict[str, Any]


class Usage(NamedTuple):
    """The resource usage of an instance: memory in bytes, processor in percent of one processor."""

    memory: int | None = None
    cpu: float | None = None


class StateReader:
    """Reader of the current state. `max_processes` is the maximum number per variant."""

    def __init__(
        self,
        *,
        endpoints: Callable[[], list[Endpoint]],
        components: Mapping[str, Component],
        targets: Callable[[], list[RegisteredTarget]],
        cloudwatch: Any,
        events: Events,
        traffic: Traffic,
        speed: float,
        max_processes: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._endpoints, self._targets = endpoints, targets
        self._components = components
        self._events, self._traffic = events, traffic
        self._speed, self._max_processes, self._clock = speed, max_processes, clock
        self._started = clock()
        self._processors = Processors()
        alarms = Alarms(cloudwatch, events.add)
        self._alarms = CachedLookup(alarms.read, list[Record](), seconds=POLL_SECONDS)
        self._usage = CachedLookup(self._read_usages, dict[str, Usage](), seconds=POLL_SECONDS)

    def state(self, *, after: int = 0, since: float = 0) -> Record:
        """Return the state, with the events after a sequence number and the rates since a time."""
        alarms, usages, endpoints = self._alarms.latest(), self._usage.latest(), self._endpoints()
        values = {alarm["name"]: alarm["value"] for alarm in alarms}
        scaling = {
            tuple(target.key.resource_names.values()): _scaling(target, values)
            for target in self._targets()
        }
        self._traffic.delete_except([endpoint.name for endpoint in endpoints])
        return {
            "speed": self._speed,
            "started": self._started,
            "now": self._clock(),
            "endpoints": [
                _endpoint(endpoint, list(self._variants(endpoint, scaling, usages, since)))
                for endpoint in endpoints
            ],
            "alarms": alarms,
            "events": self._events.after(after),
        }

    def _read_usages(self) -> dict[str, Usage]:
        """Return the resource usage of instances by id."""
        fleets = (fleet for endpoint in self._endpoints() for fleet in endpoint.fleets)
        instances = (instance for fleet in fleets for instance in fleet.instances())
        servers = [server for instance in instances if (server := instance.server)]
        cpu = self._processors.percentages(servers)
        return {
            server.id: Usage(server.triton.resident_bytes(), cpu.get(server.id))
            for server in servers
        }

    def _variants(
        self,
        endpoint: Endpoint,
        scaling: Mapping[tuple[str, ...], Record],
        usages: Mapping[str, Usage],
        since: float,
    ) -> Iterator[Record]:
        description = endpoint.describe()
        pending = description.get("PendingDeploymentSummary", {}).get("ProductionVariants", [])
        variants = {
            variant["VariantName"]: variant
            for variant in pending + description["ProductionVariants"]
        }
        configs = {
            config["VariantName"]: (config, plan.models.get(config.get("ModelName")))
            for plan in (endpoint.new_plan, endpoint.plan)
            for config in plan.config["ProductionVariants"]
        }
        instances = [instance for fleet in endpoint.fleets for instance in fleet.instances()]
        for name, variant in sorted(variants.items()):
            config, model = configs[name]
            records = (
                _instance(instance, usages) for instance in instances if instance.variant == name
            )
            yield {
                "name": name,
                "weight": variant["CurrentWeight"],
                "instance_type": ", ".join(pool.instance_type for pool in pools(config)),
                "container_mode": model["PrimaryContainer"]["Mode"] if model else None,
                "current_count": variant["CurrentInstanceCount"],
                "desired_count": variant["DesiredInstanceCount"],
                "scaling": scaling.get((endpoint.name, name)),
                "components": [
                    _component(component.describe(), scaling.get((component.resource_name,)))
                    for component in list(self._components.values())
                    if component.name == endpoint.name
                ],
                "processes_at_most": (
                    self._max_processes
                    if model and variant["DesiredInstanceCount"] > self._max_processes
                    else None
                ),
                "instances": list(filter(None, records)),
                "rates": self._traffic.rates(endpoint.name, name, since),
            }


def _component(description: Record, scaling: Record | None) -> Record:
    counts = description["RuntimeConfig"]
    return {
        "name": description["InferenceComponentName"],
        "status": description["InferenceComponentStatus"],
        "failure": description.get("FailureReason"),
        "current_count": counts["CurrentCopyCount"],
        "desired_count": counts["DesiredCopyCount"],
        "scaling": scaling,
    }


def _endpoint(endpoint: Endpoint, variants: list[Record]) -> Record:
    description = endpoint.describe()
    return {
        "name": endpoint.name,
        "status": description["EndpointStatus"],
        "configuration": description["EndpointConfigName"],
        "failure": description.get("FailureReason"),
        "variants": variants,
    }


def _scaling(target: RegisteredTarget, values: Mapping[str, float | None]) -> Record:
    smallest, largest = target.limits
    policies = [
        _policy(record, values)
        for record in target.policies.values()
        if TRACKING_CONFIGURATION in record
    ]
    return {"min": smallest, "max": largest, "policies": policies}


def _policy(record: Record, values: Mapping[str, float | None]) -> Record:
    configuration = record[TRACKING_CONFIGURATION]
    predefined = configuration.get("PredefinedMetricSpecification", {})
    customized = configuration.get("CustomizedMetricSpecification", {})
    return {
        "name": record["PolicyName"],
        "metric": predefined.get("PredefinedMetricType")
        or customized.get("MetricName", "metric math"),
        "target": configuration["TargetValue"],
        "value": values.get(alarm_names(record).get(HIGH, "")),
    }


def _instance(instance: Instance, usages: Mapping[str, Usage]) -> Record | None:
    """Return an instance; None if it has no server, because it has ended or is being replaced."""
    server = instance.server
    if server is None:
        return None
    usage, models = usages.get(server.id, Usage()), server.container.statuses()
    return {
        "id": server.id,
        "state": instance.state,
        "calls": instance.calls or sum(model.calls for model in models),
        "memory": usage.memory,
        "memory_limit": server.capacity.memory,
        "disk": server.container.disk_bytes,
        "disk_limit": server.capacity.disk,
        "cpu": usage.cpu,
        "models": [
            {
                "target": model.target_model,
                "name": model_name(model.target_model),
                "state": model.phase,
                "since": model.since,
                "calls": model.calls,
                "answered": model.answered,
                "disk": model.bytes,
            }
            for model in models
        ],
    }
