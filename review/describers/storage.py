"""Describers of object lifecycles, logs and data capture."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from review.describers.generic import both_values, falls_sharply, is_on
from review.property_change import ChangeLine, PropertyChange
from review.values import format_change, format_value

EXPIRING_OBJECTS, LOST_LOGGING = "expiring_objects", "lost_logging"
ENCRYPTION_REMOVED = "encryption_removed"

ARCHIVE_CLASSES = ("GLACIER", "DEEP_ARCHIVE")
"""Storage classes whose objects must be restored before they can be read (S3 user guide,
storage-class-intro; GLACIER is Flexible Retrieval)."""

CAPTURE_MODES = {
    "Input": "requests",
    "Output": "responses",
    "InputAndOutput": "requests and responses",
}


class _Expiration(NamedTuple):
    """The effect of a lifecycle rule on the objects below `prefix`, `days` after their creation.

    condition: clause with the rule's other filters, such as tags; empty without such a filter.
    """

    effect: str
    prefix: str
    condition: str
    days: float


def describe_lifecycle(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield each rule that newly removes objects of an existing bucket, or removes them earlier.

    A rule without a prefix applies to all objects; expiration deletes them (S3 user guide,
    lifecycle-expire-general-considerations). Archives in the catalog must not be removed, because
    instances can load them at any time.
    """
    old, new = (list(_expirations(side or {})) for side in (change.before, change.after))
    new_expirations = [
        expiration for expiration in new if not any(_covers(other, expiration) for other in old)
    ]
    if not new_expirations or not change.resource_change.before:
        yield from both_values(change)
        return
    for effect, prefix, condition, days in new_expirations:
        objects = f"below {prefix}" if prefix else "all"
        text = f"objects ({objects}{condition}) are {effect} {days:g} days after they were written"
        yield ChangeLine(text, EXPIRING_OBJECTS)


def _expirations(configuration: dict[str, Any]) -> Iterator[_Expiration]:
    for rule in configuration.get("Rules", ()):
        if rule.get("Status") != "Enabled":
            continue
        filters = rule.get("Filter", {}).get("And", rule.get("Filter", {}))
        prefix = rule.get("Prefix") or filters.get("Prefix") or ""
        other_filters = {key: value for key, value in filters.items() if key != "Prefix"}
        if "TagFilters" in rule:
            other_filters["TagFilters"] = rule["TagFilters"]
        condition = f", if {other_filters}" if other_filters else ""
        if "ExpirationInDays" in rule or "ExpirationDate" in rule:
            days = float(rule.get("ExpirationInDays", 0))
            yield _Expiration("deleted", prefix, condition, days)
        if version_days := rule.get("NoncurrentVersionExpiration", {}).get("NoncurrentDays"):
            yield _Expiration("deleted as earlier versions", prefix, condition, float(version_days))
        for transition in (*rule.get("Transitions", ()), rule.get("Transition", {})):
            if transition.get("StorageClass") in ARCHIVE_CLASSES:
                days = float(transition.get("TransitionInDays", 0))
                yield _Expiration("no longer readable", prefix, condition, days)


def _covers(old: _Expiration, new: _Expiration) -> bool:
    """Return whether the old expiration already had the same effect on the same objects."""
    has_objects = new.prefix.startswith(old.prefix) and old.condition in ("", new.condition)
    return has_objects and old.effect == new.effect and old.days <= new.days


def describe_retention(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield the retention of logs, after which events are deleted (PutRetentionPolicy).

    A log group without `RetentionInDays` keeps all events.
    """
    old_days, new_days = (side or float("inf") for side in (change.before, change.after))
    old_text, new_text = (
        "for ever" if days == float("inf") else f"{days:g} day{'s' * (days > 1)}"
        for days in (old_days, new_days)
    )
    is_shorter = change.resource_change.before and new_days < old_days
    text = f"the log is kept {new_text}, before {old_text}"
    yield ChangeLine(text, LOST_LOGGING if is_shorter else "")


def describe_capture(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield changes of the captured share of requests, and of its destination."""
    old, new = change.before or {}, change.after or {}
    texts = [_capture_text(side) for side in (old, new)]
    percentages = [_captured_percentage(side) for side in (old, new)]
    if change.resource_change.before and falls_sharply(*percentages):
        yield ChangeLine(f"requests are no longer captured: {texts[0]} -> {texts[1]}", LOST_LOGGING)
    elif texts[0] != texts[1]:
        yield ChangeLine(f"data capture: {texts[0]} -> {texts[1]}")
    elif not all(percentages):
        yield ChangeLine("data capture: settings change, but it stays disabled")
    for key in ("DestinationS3Uri", "KmsKeyId"):
        if all(percentages) and old.get(key) != new.get(key):
            is_unencrypted = key == "KmsKeyId" and not new.get(key)
            values = (format_value(side.get(key), {}) for side in (old, new))
            text = f"data capture, {key}: {format_change(*values)}"
            yield ChangeLine(text, ENCRYPTION_REMOVED if is_unencrypted else "")


def _capture_text(config: dict[str, Any]) -> str:
    """Return the captured share of requests and responses as text."""
    if not is_on(config.get("EnableCapture")):
        return "nothing"
    modes = (str(option.get("CaptureMode")) for option in config.get("CaptureOptions", ()))
    directions = " and ".join(CAPTURE_MODES.get(mode, mode) for mode in modes)
    return f"{config.get('InitialSamplingPercentage')} % of {directions}"


def _captured_percentage(config: dict[str, Any]) -> float:
    if not is_on(config.get("EnableCapture")):
        return 0.0
    return float(config.get("InitialSamplingPercentage", 0))
