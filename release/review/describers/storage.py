"""Describers of object lifecycles, logs and data capture."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from release.review.describers.generic import both_values, falls_sharply, is_on
from release.review.property_change import ChangeLine, PropertyChange
from release.review.values import format_change, format_value

EXPIRING, RECORDS, ENCRYPTION = "expiring_objects", "lost_records", "encryption_removed"

ARCHIVE_CLASSES = ("GLACIER", "DEEP_ARCHIVE")
"""Storage classes whose objects must be restored before they can be read (S3 user guide,
storage-class-intro; GLACIER is Flexible Retrieval)."""

CAPTURE_MODES = {
    "Input": "requests",
    "Output": "responses",
    "InputAndOutput": "requests and responses",
}


class _Expiration(NamedTuple):
    """A lifecycle action on the objects below `prefix`, `days` after they were written."""

    effect: str
    prefix: str
    condition: str
    days: float


def lifecycle(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield each rule that newly removes objects of an existing bucket, or removes them earlier.

    A rule without a prefix applies to all objects; expiration deletes them (S3 user guide,
    lifecycle-expire-general-considerations). Archives in the catalog must be kept, because
    instances can load them at any time.
    """
    old, new = (list(_expirations(side or {})) for side in (change.before, change.after))
    added = [item for item in new if not any(_covers(other, item) for other in old)]
    if not added or not change.change.before:
        yield from both_values(change)
        return
    for item in added:
        objects = f"below {item.prefix}" if item.prefix else "all"
        text = f"objects ({objects}{item.condition}) are {item.effect} {item.days:g} days after"
        yield ChangeLine(f"{text} they were written", EXPIRING)


def _expirations(configuration: dict[str, Any]) -> Iterator[_Expiration]:
    for rule in configuration.get("Rules", ()):
        if rule.get("Status") != "Enabled":
            continue
        filters = rule.get("Filter", {}).get("And", rule.get("Filter", {}))
        prefix = rule.get("Prefix") or filters.get("Prefix") or ""
        rest = {key: item for key, item in filters.items() if key != "Prefix"}
        if "TagFilters" in rule:
            rest["TagFilters"] = rule["TagFilters"]
        condition = f", if {rest}" if rest else ""
        if "ExpirationInDays" in rule or "ExpirationDate" in rule:
            days = float(rule.get("ExpirationInDays", 0))
            yield _Expiration("deleted", prefix, condition, days)
        if earlier := rule.get("NoncurrentVersionExpiration", {}).get("NoncurrentDays"):
            yield _Expiration("deleted as earlier versions", prefix, condition, float(earlier))
        for move in (*rule.get("Transitions", ()), rule.get("Transition", {})):
            if move.get("StorageClass") in ARCHIVE_CLASSES:
                days = float(move.get("TransitionInDays", 0))
                yield _Expiration("no longer readable", prefix, condition, days)


def _covers(old: _Expiration, new: _Expiration) -> bool:
    """Return whether the old action already had the same effect on the same objects."""
    covers = new.prefix.startswith(old.prefix) and old.condition in ("", new.condition)
    return covers and old.effect == new.effect and old.days <= new.days


def retention(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield the retention of logs, after which events are deleted (PutRetentionPolicy).

    A log group without `RetentionInDays` keeps all events.
    """
    days = [side or float("inf") for side in (change.before, change.after)]
    texts = ["for ever" if item == float("inf") else f"{item:g} day{'s' * (item > 1)}"
             for item in days]  # fmt: skip
    shorter = change.change.before and days[1] < days[0]
    yield ChangeLine(f"the log is kept {texts[1]}, before {texts[0]}", RECORDS if shorter else "")


def capture(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield changes of the captured share of requests, and of its destination."""
    old, new = change.before or {}, change.after or {}
    texts = [_capture_text(side) for side in (old, new)]
    shares = [_share(side) for side in (old, new)]
    text = f"data capture: {texts[0]} -> {texts[1]}"
    if change.change.before and falls_sharply(*shares):
        yield ChangeLine(f"requests are no longer captured: {texts[0]} -> {texts[1]}", RECORDS)
    elif texts[0] != texts[1]:
        yield ChangeLine(text)
    elif not all(shares):
        yield ChangeLine("data capture: settings change, but it stays disabled")
    for key in ("DestinationS3Uri", "KmsKeyId"):
        if all(shares) and old.get(key) != new.get(key):
            lost = key == "KmsKeyId" and not new.get(key)
            sides = (format_value(value.get(key), {}) for value in (old, new))
            yield ChangeLine(
                f"data capture, {key}: {format_change(*sides)}", ENCRYPTION if lost else ""
            )


def _capture_text(config: dict[str, Any]) -> str:
    """Return the captured share of requests and responses as text."""
    if not is_on(config.get("EnableCapture")):
        return "nothing"
    modes = (item.get("CaptureMode") for item in config.get("CaptureOptions", ()))
    sides = " and ".join(CAPTURE_MODES.get(str(value), str(value)) for value in modes)
    return f"{config.get('InitialSamplingPercentage')} % of {sides}"


def _share(config: dict[str, Any]) -> float:
    on = is_on(config.get("EnableCapture"))
    return float(config.get("InitialSamplingPercentage", 0)) if on else 0.0
