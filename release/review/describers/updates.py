"""How an endpoint is updated, and what rolls an update back."""

from collections.abc import Iterator
from math import ceil
from typing import Any

from release.review.describers.alarms import JUDGED
from release.review.endpoints import DeclaredEndpoint
from release.review.property_change import ChangeLine, PropertyChange
from release.review.values import construct_path

RULE = "lost_rollback"
COUNT = {"VariantPropertyType": "DesiredInstanceCount"}


def deployment(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield how updates go, fewer or other alarms that roll one back, and less time for them.

    SageMaker looks at the alarms while traffic moves and until the old instances are gone
    (developer guide, deployment-guardrails-configuration). The old ones stay for
    `TerminationWaitInSeconds`, 0 unless it is set (API reference, BlueGreenUpdatePolicy).
    """
    pair = change.pair
    if not pair or not (pair.before and pair.after) or pair.before.name != pair.after.name:
        return
    if pair.before.variants.keys() != pair.after.variants.keys():
        return  # such an update is refused
    old, new = change.before or {}, change.after or {}
    texts = in_words(old), in_words(new)
    if texts[0] != texts[1]:
        yield ChangeLine(f"later updates: {texts[0]} -> {texts[1]}")
    yield from _rollback(change, _alarms(old), _alarms(new))
    window = _window(change, new)
    less = f"less than the {window} s that the rollback alarms look at"
    was, now = _baked(old, pair.before), _baked(new, pair.after)
    if now < min(was, window):
        yield ChangeLine(f"traffic moves to new instances in {now} s, before {was} s: {less}", RULE)
    was, now = _kept(old), _kept(new)
    if "BlueGreenUpdatePolicy" in new and now < min(was, window):
        yield ChangeLine(f"old instances stay for {now} s, before {was} s: {less}", RULE)


def component_deployment(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield how copies of an inference component are replaced, and alarms that are gone."""
    old, new = change.before or {}, change.after or {}
    if change.change.before and change.change.after:
        alarms = _alarms(old), _alarms(new)
        texts = [f"{in_words(side)}, rolled back on {len(names)} alarms"
                 for side, names in zip((old, new), alarms, strict=True)]  # fmt: skip
        if texts[0] != texts[1]:
            yield ChangeLine(f"later updates of copies: {texts[0]} -> {texts[1]}")
        yield from _rollback(change, *alarms)


def component_identity(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield that a component gets another name or place, which it cannot.

    CloudFormation's schema has no such property as one that replaces the component, and
    UpdateInferenceComponent has no member for any of them but the name that it looks for.
    """
    if change.change.before and change.change.after:
        text = f"{change.name}: {change.arrow}: no update of a component does that"
        yield ChangeLine(f"{text}; give the new one another logical id", "refused_updates")


def _rollback(change: PropertyChange, old: list[Any], new: list[Any]) -> Iterator[ChangeLine]:
    """Yield the alarms that no longer roll an update back; one that is renamed is the same."""
    resources = [side[change.change.stack]["Resources"] for side in change.comparison.sides]
    known = [_watched(resources[1], alarm) for alarm in new]
    gone = [alarm for alarm in old
            if alarm not in new and _watched(resources[0], alarm) not in known]  # fmt: skip
    if gone:
        names = ", ".join(construct_path(str(alarm), resources[0]) for alarm in gone)
        left = f": {len(new)} of {len(old)} alarms are left" if len(new) < len(old) else ""
        yield ChangeLine(f"updates are no longer rolled back by {names}{left}", RULE)


def _watched(resources: dict[str, Any], alarm: Any) -> Any:
    """Return what an alarm of a stack watches, the alarm itself where it is another's."""
    properties = resources.get(str(alarm), {}).get("Properties")
    return [properties.get(name) for name in JUDGED] if properties else alarm


def endpoint(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield that updates no longer keep the number of instances that scaling has chosen.

    Without `RetainAllVariantProperties`, or with the count among
    `ExcludeRetainedVariantProperties`, the configuration's count is taken (API reference,
    UpdateEndpoint).
    """
    if change.before and change.after and _keeps(change.before) and not _keeps(change.after):
        pair = change.pair
        assert pair
        assert pair.after
        variants = pair.after.variants.values()
        counts = ", ".join(
            f"{variant.name}: {variant.initial} of up to {variant.maximum}" for variant in variants
        )
        yield ChangeLine(
            "updates no longer keep the number of instances: new ones begin with the initial "
            f"number, whatever the load ({counts})",
            "reset_counts",
        )


def in_words(deployment: dict[str, Any]) -> str:
    """Return how an endpoint is updated."""
    if rolling := deployment.get("RollingUpdatePolicy"):
        size = _amount(rolling.get("MaximumBatchSize"))
        return f"rolling {size} every {rolling.get('WaitIntervalInSeconds', 0)} s"
    routing, wait = _routing(deployment)
    kept = f", old instances stay {_kept(deployment)} s" if _kept(deployment) else ""
    match routing.get("Type"):
        case "CANARY":
            return f"canary {_amount(routing.get('CanarySize'))} for {wait} s{kept}"
        case "LINEAR":
            return f"linear {_amount(routing.get('LinearStepSize'))} every {wait} s{kept}"
    return f"all at once{kept}"


def _baked(deployment: dict[str, Any], endpoint: DeclaredEndpoint) -> int:
    """Return the seconds from the first request to a new instance to the last to an old one.

    A canary waits once, the other strategies between any two steps (developer guide,
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


def _kept(deployment: dict[str, Any]) -> int:
    return int(deployment.get("BlueGreenUpdatePolicy", {}).get("TerminationWaitInSeconds", 0))


def _amount(size: dict[str, Any] | None) -> str:
    if not size:
        return "?"
    units = {"CAPACITY_PERCENT": "%", "COPY_COUNT": "copies"}
    return f"{size['Value']} {units.get(size['Type'], 'instances')}"


def _alarms(deployment: dict[str, Any]) -> list[Any]:
    """Return what names the alarms: logical ids, where they are of the stack."""
    named = deployment.get("AutoRollbackConfiguration", {}).get("Alarms", ())
    names = [item["AlarmName"] for item in named]
    return [name.get("Ref") if isinstance(name, dict) else name for name in names]


def _window(change: PropertyChange, deployment: dict[str, Any]) -> int:
    """Return the seconds that the rollback alarms of a stack look at, at most."""
    resources = change.comparison.sides[1][change.change.stack]["Resources"]
    alarms = [resources.get(alarm, {}).get("Properties", {}) for alarm in _alarms(deployment)]
    return max(
        (item.get("Period", 60) * item.get("EvaluationPeriods", 1) for item in alarms), default=60
    )


def _keeps(endpoint: dict[str, Any]) -> bool:
    excluded = endpoint.get("ExcludeRetainedVariantProperties", [])
    return bool(endpoint.get("RetainAllVariantProperties")) and COUNT not in excluded
