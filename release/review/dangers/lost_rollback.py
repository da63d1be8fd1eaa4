"""Updates that are no longer rolled back."""

from collections.abc import Iterator
from typing import Any

from release.review.comparison import Comparison
from release.review.dangers.found import Found
from release.tree import Template


def lost_rollback(comparison: Comparison) -> Iterator[Found]:
    """Fewer alarms, or other ones, roll an update back; or there is no time for them to go off.

    SageMaker looks at the alarms until the old instances are gone (developer guide,
    deployment-guardrails-configuration), which is after `TerminationWaitInSeconds`, 0 unless it is
    set (API reference, BlueGreenUpdatePolicy); a canary is looked at for `WaitIntervalInSeconds`.
    """
    for before, after in comparison.kept:
        if after.rollback_alarms < before.rollback_alarms:
            yield Found(
                after.name,
                f"updates of {after.name} are rolled back by {after.rollback_alarms} alarms, "
                f"before by {before.rollback_alarms}",
            )
    for change in comparison.changes:
        if change.type != "AWS::SageMaker::Endpoint" or not (change.before and change.after):
            continue
        name = comparison.endpoint_in(change.stack)
        old, new = (
            it["Properties"].get("DeploymentConfig", {}) for it in (change.before, change.after)
        )
        pair = comparison.endpoints[change.stack]
        if (
            not (pair.before and pair.after)
            or pair.before.variants.keys() != pair.after.variants.keys()
        ):
            continue  # such an update is refused
        gone = [it for it in _alarms(old) if it not in _alarms(new)]
        if gone and len(_alarms(new)) >= len(_alarms(old)):
            yield Found(
                f"{name}.alarms",
                f"updates of {name} are no longer rolled back by {', '.join(map(str, gone))}",
            )
        yield from _short_watch(name, old, new, _window(comparison.sides[1][change.stack], new))


def _short_watch(
    name: str, old: dict[str, Any], new: dict[str, Any], window: int
) -> Iterator[Found]:
    """Yield where less time is left than the alarms look back at."""
    kept = [
        it.get("BlueGreenUpdatePolicy", {}).get("TerminationWaitInSeconds", 0) for it in (old, new)
    ]
    if "BlueGreenUpdatePolicy" in new and kept[1] < min(kept[0], window):
        yield Found(
            f"{name}.old-instances",
            f"old instances of {name} stay {kept[1]} s after an update, before {kept[0]} s: when "
            f"an alarm, which looks at {window} s, goes off, there is nothing to roll back to",
        )
    (kind, was), (same, now) = _waits(old), _waits(new)
    if kind == same and now < min(was, window):
        yield Found(
            f"{name}.wait",
            f"updates of {name} wait {now} s between two moves, before {was} s: less than the "
            f"{window} s that the alarms look at",
        )


def _alarms(deployment: dict[str, Any]) -> list[Any]:
    """Return what names the alarms: logical ids, where they are of the stack."""
    named = deployment.get("AutoRollbackConfiguration", {}).get("Alarms", ())
    return [it["AlarmName"].get("Ref") if isinstance(it["AlarmName"], dict) else it["AlarmName"]
            for it in named]  # fmt: skip


def _window(template: Template, deployment: dict[str, Any]) -> int:
    """Return how many seconds the rollback alarms of a stack look at, at most."""
    alarms = [template["Resources"].get(it, {}).get("Properties", {}) for it in _alarms(deployment)]
    return max((it.get("Period", 60) * it.get("EvaluationPeriods", 1) for it in alarms), default=60)


def _waits(deployment: dict[str, Any]) -> tuple[str, int]:
    """Return how traffic moves, and how many seconds there are between two moves."""
    if rolling := deployment.get("RollingUpdatePolicy"):
        return "ROLLING", rolling.get("WaitIntervalInSeconds", 0)
    routing = deployment.get("BlueGreenUpdatePolicy", {}).get("TrafficRoutingConfiguration", {})
    return routing.get("Type", ""), routing.get("WaitIntervalInSeconds", 0)
