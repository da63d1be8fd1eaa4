"""Describers of update strategies and rollback alarms."""

from collections.abc import Iterator
from math import ceil
from typing import Any

from release.review.describers.alarms import ALARM_PROPERTIES
from release.review.endpoints import TemplateEndpoint
from release.review.property_change import ChangeLine, PropertyChange
from release.review.values import construct_path

RULE = "lost_rollback"
COUNT = {"VariantPropertyType": "DesiredInstanceCount"}


def deployment(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a changed update strategy, removed rollback alarms, and less time for the alarms.

    SageMaker evaluates the alarms while traffic shifts and until the old instances are terminated
    (developer guide, deployment-guardrails-configuration). That takes `TerminationWaitInSeconds`, 0
    by default (API reference, BlueGreenUpdatePolicy).
    """
    pair = change.pair
    if not pair or not (pair.before and pair.after) or pair.before.name != pair.after.name:
        return
    if pair.before.variants.keys() != pair.after.variants.keys():
        return  # the update guard rejects this update
    old, new = change.before or {}, change.after or {}
    texts = deployment_text(old), deployment_text(new)
    if texts[0] != texts[1]:
        yield ChangeLine(f"later updates: {texts[0]} -> {texts[1]}")
    yield from _rollback(change, _alarms(old), _alarms(new))
    window = _alarm_window(change, new)
    limit = f"less than the {window} s that the rollback alarms evaluate"
    before, after = (
        _traffic_shift_seconds(old, pair.before),
        _traffic_shift_seconds(new, pair.after),
    )
    if after < min(before, window):
        text = f"traffic shifts to new instances in {after} s, before {before} s: {limit}"
        yield ChangeLine(text, RULE)
    before, after = _termination_wait(old), _termination_wait(new)
    if "BlueGreenUpdatePolicy" in new and after < min(before, window):
        text = f"old instances stay for {after} s, before {before} s: {limit}"
        yield ChangeLine(text, RULE)


def component_deployment(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a changed update strategy of an inference component, and removed rollback alarms."""
    old, new = change.before or {}, change.after or {}
    if change.change.before and change.change.after:
        alarms = _alarms(old), _alarms(new)
        texts = [f"{deployment_text(side)}, rolled back on {len(names)} alarms"
                 for side, names in zip((old, new), alarms, strict=True)]  # fmt: skip
        if texts[0] != texts[1]:
            yield ChangeLine(f"later updates of copies: {texts[0]} -> {texts[1]}")
        yield from _rollback(change, *alarms)


def component_identity(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a changed name, endpoint or variant of a component, which no update can make.

    These properties do not replace the component (CloudFormation's schema), and
    UpdateInferenceComponent cannot change them.
    """
    if change.change.before and change.change.after:
        text = f"{change.name}: {change.value_change}: a component cannot be updated to this"
        yield ChangeLine(f"{text}: give the new component another logical ID", "refused_updates")


def _rollback(change: PropertyChange, old: list[Any], new: list[Any]) -> Iterator[ChangeLine]:
    """Yield the alarms that no longer roll an update back, except renamed ones."""
    resources = [side[change.change.stack]["Resources"] for side in change.comparison.templates]
    known = [_alarm_definition(resources[1], alarm) for alarm in new]
    removed = [alarm for alarm in old if _alarm_definition(resources[0], alarm) not in known]
    removed = [alarm for alarm in removed if alarm not in new]
    if removed:
        names = ", ".join(construct_path(str(alarm), resources[0]) for alarm in removed)
        left = f": {len(new)} of {len(old)} alarms are left" if len(new) < len(old) else ""
        yield ChangeLine(f"updates are no longer rolled back by {names}{left}", RULE)


def _alarm_definition(resources: dict[str, Any], alarm: Any) -> Any:
    """Return the properties of an alarm in the stack, or the name of another alarm."""
    properties = resources.get(str(alarm), {}).get("Properties")
    return [properties.get(name) for name in ALARM_PROPERTIES] if properties else alarm


def endpoint(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield that updates no longer keep the current number of instances.

    Without `RetainAllVariantProperties`, or with the count in `ExcludeRetainedVariantProperties`,
    an update sets the configuration's count (API reference, UpdateEndpoint).
    """
    if (
        change.before
        and change.after
        and _retains_counts(change.before)
        and not _retains_counts(change.after)
    ):
        pair = change.pair
        assert pair
        assert pair.after
        variants = pair.after.variants.values()
        counts = ", ".join(
            f"{variant.name}: {variant.initial} of up to {variant.maximum}" for variant in variants
        )
        yield ChangeLine(
            "updates no longer keep the current number of instances: they set the initial number, "
            f"independent of the load ({counts})",
            "reset_counts",
        )


def deployment_text(deployment: dict[str, Any]) -> str:
    """Return the update strategy of a DeploymentConfig as text."""
    if rolling := deployment.get("RollingUpdatePolicy"):
        size = _batch_size(rolling.get("MaximumBatchSize"))
        return f"rolling {size} every {rolling.get('WaitIntervalInSeconds', 0)} s"
    routing, wait = _routing(deployment)
    kept = (
        f", old instances stay {_termination_wait(deployment)} s"
        if _termination_wait(deployment)
        else ""
    )
    match routing.get("Type"):
        case "CANARY":
            return f"canary {_batch_size(routing.get('CanarySize'))} for {wait} s{kept}"
        case "LINEAR":
            return f"linear {_batch_size(routing.get('LinearStepSize'))} every {wait} s{kept}"
    return f"all at once{kept}"


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
    if not size or not size.get("Value"):
        return 1
    whole: int = 100 if size.get("Type") == "CAPACITY_PERCENT" else instances
    return ceil(whole / int(size["Value"]))


def _routing(deployment: dict[str, Any]) -> tuple[dict[str, Any], int]:
    routing = deployment.get("BlueGreenUpdatePolicy", {}).get("TrafficRoutingConfiguration", {})
    return routing, int(routing.get("WaitIntervalInSeconds", 0))


def _termination_wait(deployment: dict[str, Any]) -> int:
    return int(deployment.get("BlueGreenUpdatePolicy", {}).get("TerminationWaitInSeconds", 0))


def _batch_size(size: dict[str, Any] | None) -> str:
    if not size:
        return "?"
    units = {"CAPACITY_PERCENT": "%", "COPY_COUNT": "copies"}
    return f"{size['Value']} {units.get(size['Type'], 'instances')}"


def _alarms(deployment: dict[str, Any]) -> list[Any]:
    """Return the rollback alarms: logical IDs, or names of alarms outside the stack."""
    alarms = deployment.get("AutoRollbackConfiguration", {}).get("Alarms", ())
    names = [item["AlarmName"] for item in alarms]
    return [name.get("Ref") if isinstance(name, dict) else name for name in names]


def _alarm_window(change: PropertyChange, deployment: dict[str, Any]) -> int:
    """Return the longest evaluation time in seconds of a stack's rollback alarms."""
    resources = change.comparison.templates[1][change.change.stack]["Resources"]
    alarms = [resources.get(alarm, {}).get("Properties", {}) for alarm in _alarms(deployment)]
    return max(
        (item.get("Period", 60) * item.get("EvaluationPeriods", 1) for item in alarms), default=60
    )


def _retains_counts(endpoint: dict[str, Any]) -> bool:
    excluded = endpoint.get("ExcludeRetainedVariantProperties", [])
    return bool(endpoint.get("RetainAllVariantProperties")) and COUNT not in excluded
