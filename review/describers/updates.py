"""Describers of update strategies and rollback alarms."""

from collections.abc import Iterator
from math import ceil
from typing import Any

from review.describers.alarms import ALARM_PROPERTIES
from review.endpoints import TemplateEndpoint
from review.property_change import ChangeLine, PropertyChange
from review.values import construct_path

LOST_ROLLBACK = "lost_rollback"
INSTANCE_COUNT = {"VariantPropertyType": "DesiredInstanceCount"}


def describe_deployment(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a changed update strategy, removed rollback alarms, and too little time for the alarms.

    SageMaker evaluates the alarms while traffic shifts and until the old instances are terminated
    (developer guide, deployment-guardrails-configuration). That takes `TerminationWaitInSeconds`, 0
    by default (API reference, BlueGreenUpdatePolicy).
    """
    before, after = change.endpoints
    if not (before and after) or before.name != after.name:
        return
    if before.variants.keys() != after.variants.keys():
        return  # the update guard rejects this update
    old, new = change.before or {}, change.after or {}
    texts = deployment_text(old), deployment_text(new)
    if texts[0] != texts[1]:
        yield ChangeLine(f"later updates: {texts[0]} -> {texts[1]}")
    yield from _removed_alarms(change, _alarms(old), _alarms(new))
    window = _alarm_window(change, new)
    reason = f"less than the {window} s that the rollback alarms evaluate"
    old_shift = _traffic_shift_seconds(old, before)
    new_shift = _traffic_shift_seconds(new, after)
    if new_shift < min(old_shift, window):
        text = f"traffic shifts to new instances in {new_shift} s, before {old_shift} s: {reason}"
        yield ChangeLine(text, LOST_ROLLBACK)
    old_wait, new_wait = _termination_wait(old), _termination_wait(new)
    if "BlueGreenUpdatePolicy" in new and new_wait < min(old_wait, window):
        text = f"old instances stay for {new_wait} s, before {old_wait} s: {reason}"
        yield ChangeLine(text, LOST_ROLLBACK)


def describe_component_deployment(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a changed update strategy of an inference component, and removed rollback alarms."""
    old, new = change.before or {}, change.after or {}
    if change.resource_change.before and change.resource_change.after:
        alarms = _alarms(old), _alarms(new)
        texts = [f"{deployment_text(side)}, rolled back on {len(names)} alarms"
                 for side, names in zip((old, new), alarms, strict=True)]  # fmt: skip
        if texts[0] != texts[1]:
            yield ChangeLine(f"later updates of copies: {texts[0]} -> {texts[1]}")
        yield from _removed_alarms(change, *alarms)


def describe_component_identity(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a changed name, endpoint or variant of a component, which an update cannot change.

    CloudFormation does not replace the component for these properties (its schema), and
    UpdateInferenceComponent does not accept them.
    """
    if change.resource_change.before and change.resource_change.after:
        text = f"{change.name}: {change.value_change}: an update of a component cannot change this"
        yield ChangeLine(f"{text}: give the new component another logical ID", "rejected_updates")


def _removed_alarms(change: PropertyChange, old: list[Any], new: list[Any]) -> Iterator[ChangeLine]:
    """Yield the alarms that no longer roll an update back, except renamed ones."""
    old_resources, resources = change.stack_resources
    new_definitions = [_alarm_definition(resources, alarm) for alarm in new]
    removed = [
        alarm
        for alarm in old
        if alarm not in new and _alarm_definition(old_resources, alarm) not in new_definitions
    ]
    if removed:
        names = ", ".join(construct_path(str(alarm), old_resources) for alarm in removed)
        count = f": {len(new)} of {len(old)} alarms remain" if len(new) < len(old) else ""
        yield ChangeLine(f"updates are no longer rolled back by {names}{count}", LOST_ROLLBACK)


def _alarm_definition(resources: dict[str, Any], alarm: Any) -> Any:
    """Return the properties of an alarm in the stack, or the name of another alarm."""
    properties = resources.get(str(alarm), {}).get("Properties")
    return [properties.get(name) for name in ALARM_PROPERTIES] if properties else alarm


def describe_retained_counts(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield that updates no longer keep the current number of instances.

    Without `RetainAllVariantProperties`, or with the count in `ExcludeRetainedVariantProperties`,
    an update sets the configuration's count (API reference, UpdateEndpoint).
    """
    _, endpoint = change.endpoints
    old, new = change.before or {}, change.after or {}
    if endpoint and new and _retains_counts(old) and not _retains_counts(new):
        counts = ", ".join(
            f"{variant.name}: {variant.initial} of up to {variant.maximum}"
            for variant in endpoint.variants.values()
        )
        yield ChangeLine(
            "updates no longer keep the current number of instances: they set the initial number, "
            f"independent of the load ({counts})",
            "reset_instance_counts",
        )


def deployment_text(deployment: dict[str, Any]) -> str:
    """Return the update strategy of a DeploymentConfig as text."""
    if rolling := deployment.get("RollingUpdatePolicy"):
        size = _batch_size(rolling.get("MaximumBatchSize"))
        return f"rolling {size} every {rolling.get('WaitIntervalInSeconds', 0)} s"
    routing, wait = _routing(deployment)
    termination_wait = _termination_wait(deployment)
    ending = f", old instances stay {termination_wait} s" if termination_wait else ""
    match routing.get("Type"):
        case "CANARY":
            return f"canary {_batch_size(routing.get('CanarySize'))} for {wait} s{ending}"
        case "LINEAR":
            return f"linear {_batch_size(routing.get('LinearStepSize'))} every {wait} s{ending}"
    return f"all at once{ending}"


def _traffic_shift_seconds(deployment: dict[str, Any], endpoint: TemplateEndpoint) -> int:
    """Return the seconds from the first to the last step of the traffic shift.

    A canary waits once, the other strategies wait between any two steps (developer guide,
    deployment-guardrails-blue-green and -rolling).
    """
    instances = max(sum(variant.initial for variant in endpoint.variants.values()), 1)
    if rolling := deployment.get("RollingUpdatePolicy"):
        size, wait = rolling.get("MaximumBatchSize"), rolling.get("WaitIntervalInSeconds", 0)
        return (_steps(size, instances) - 1) * int(wait)
    routing, wait = _routing(deployment)
    size = routing.get("LinearStepSize")
    steps = {"CANARY": 2, "LINEAR": _steps(size, instances)}.get(str(routing.get("Type")), 1)
    return (steps - 1) * wait


def _steps(size: dict[str, Any] | None, instances: int) -> int:
    """Return the number of batches of a size, in instances or percent, for all instances."""
    if not size or not size.get("Value"):
        return 1
    total: int = 100 if size.get("Type") == "CAPACITY_PERCENT" else instances
    return ceil(total / int(size["Value"]))


def _routing(deployment: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """Return the TrafficRoutingConfiguration, and its wait between two steps in seconds."""
    routing = deployment.get("BlueGreenUpdatePolicy", {}).get("TrafficRoutingConfiguration", {})
    return routing, int(routing.get("WaitIntervalInSeconds", 0))


def _termination_wait(deployment: dict[str, Any]) -> int:
    return int(deployment.get("BlueGreenUpdatePolicy", {}).get("TerminationWaitInSeconds", 0))


def _batch_size(size: dict[str, Any] | None) -> str:
    """Return a number with its unit, `?` without a size."""
    if not size:
        return "?"
    units = {"CAPACITY_PERCENT": "%", "COPY_COUNT": "copies"}
    return f"{size['Value']} {units.get(size['Type'], 'instances')}"


def _alarms(deployment: dict[str, Any]) -> list[Any]:
    """Return the rollback alarms: logical IDs, or names of alarms outside the stack."""
    alarms = deployment.get("AutoRollbackConfiguration", {}).get("Alarms", ())
    names = [alarm["AlarmName"] for alarm in alarms]
    return [name.get("Ref") if isinstance(name, dict) else name for name in names]


def _alarm_window(change: PropertyChange, deployment: dict[str, Any]) -> int:
    """Return the longest evaluation time of a stack's rollback alarms in seconds."""
    _, resources = change.stack_resources
    alarms = [resources.get(alarm, {}).get("Properties", {}) for alarm in _alarms(deployment)]
    return max(
        (alarm.get("Period", 60) * alarm.get("EvaluationPeriods", 1) for alarm in alarms),
        default=60,
    )


def _retains_counts(endpoint: dict[str, Any]) -> bool:
    excluded = endpoint.get("ExcludeRetainedVariantProperties", [])
    return bool(endpoint.get("RetainAllVariantProperties")) and INSTANCE_COUNT not in excluded
