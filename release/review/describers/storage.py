"""Describe changes of object lifecycles, logs and data capture."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from release.review.describers.generic import falls, is_on, shown
from release.review.property_change import ChangeLine, PropertyChange
from release.review.values import arrow, text_of

EXPIRING, RECORDS, ENCRYPTION = "expiring_objects", "lost_records", "encryption_removed"

UNREADABLE = ("GLACIER", "DEEP_ARCHIVE")
"""Storage classes from which objects must be restored before they are read (S3 user guide,
storage-class-intro; GLACIER is Flexible Retrieval)."""

CAPTURED = {"Input": "requests", "Output": "responses", "InputAndOutput": "requests and responses"}


class _End(NamedTuple):
    """A lifecycle action on objects below `prefix`, `days` after they were written."""

    fate: str
    prefix: str
    condition: str
    days: float


def lifecycle(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield each rule that removes objects of an existing bucket, or removes them earlier.

    A rule without a prefix applies to all objects; expiration deletes them (S3 user guide,
    lifecycle-expire-general-considerations). Archives in the catalog must stay: instances may load
    them at any time.
    """
    old, new = (list(_ends(side or {})) for side in (change.before, change.after))
    dangers = 0
    for end in new if change.change.before else ():
        if not any(_takes(item, end) for item in old):
            dangers += 1
            below = f"below {end.prefix}" if end.prefix else "all"
            yield ChangeLine(
                f"objects ({below}{end.condition}) are {end.fate} {end.days:g} days after they "
                "were written, whoever still needs them",
                EXPIRING,
            )
    if not dangers:
        yield from shown(change)


def _ends(configuration: dict[str, Any]) -> Iterator[_End]:
    for rule in configuration.get("Rules", ()):
        if rule.get("Status") != "Enabled":
            continue
        both = rule.get("Filter", {}).get("And", rule.get("Filter", {}))
        prefix = rule.get("Prefix") or both.get("Prefix") or ""
        rest = {key: item for key, item in both.items() if key != "Prefix"}
        if "TagFilters" in rule:
            rest["TagFilters"] = rule["TagFilters"]
        condition = f", if {rest}" if rest else ""
        if "ExpirationInDays" in rule or "ExpirationDate" in rule:
            days = float(rule.get("ExpirationInDays", 0))
            yield _End("deleted", prefix, condition, days)
        if earlier := rule.get("NoncurrentVersionExpiration", {}).get("NoncurrentDays"):
            yield _End("deleted as earlier versions", prefix, condition, float(earlier))
        for move in (*rule.get("Transitions", ()), rule.get("Transition", {})):
            if move.get("StorageClass") in UNREADABLE:
                days = float(move.get("TransitionInDays", 0))
                yield _End("no longer readable", prefix, condition, days)


def _takes(known: _End, end: _End) -> bool:
    """Return whether an earlier rule already removed the same objects by then."""
    covers = end.prefix.startswith(known.prefix) and known.condition in ("", end.condition)
    return covers and known.fate == end.fate and known.days <= end.days


def retention(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield the retention of logs: older events are deleted (PutRetentionPolicy).

    A log group without `RetentionInDays` keeps all events.
    """
    was, now = (side or float("inf") for side in (change.before, change.after))
    texts = [
        "for ever" if item == float("inf") else f"{item:g} day{'s' * (item > 1)}"
        for item in (was, now)
    ]
    shorter = change.change.before and now < was
    yield ChangeLine(f"the log is kept {texts[1]}, before {texts[0]}", RECORDS if shorter else "")


def capture(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield changes of the captured share of requests, and of its destination."""
    old, new = change.before or {}, change.after or {}
    texts = [captured(side) for side in (old, new)]
    shares = [_share(item) for item in (old, new)]
    text = f"data capture: {texts[0]} -> {texts[1]}"
    if change.change.before and falls(*shares):
        yield ChangeLine(f"requests are no longer captured: {texts[0]} -> {texts[1]}", RECORDS)
    elif texts[0] != texts[1]:
        yield ChangeLine(text)
    elif not all(shares):
        yield ChangeLine("data capture: settings change, and it stays off")
    for key in ("DestinationS3Uri", "KmsKeyId"):
        if all(shares) and old.get(key) != new.get(key):
            lost = key == "KmsKeyId" and not new.get(key)
            sides = (text_of(value.get(key), {}) for value in (old, new))
            yield ChangeLine(f"data capture, {key}: {arrow(*sides)}", ENCRYPTION if lost else "")


def captured(config: dict[str, Any]) -> str:
    """Return the captured share of requests and responses as text."""
    if not is_on(config.get("EnableCapture")):
        return "nothing"
    modes = (item.get("CaptureMode") for item in config.get("CaptureOptions", ()))
    sides = " and ".join(CAPTURED.get(str(value), str(value)) for value in modes)
    return f"{config.get('InitialSamplingPercentage')} % of {sides}"


def _share(config: dict[str, Any]) -> float:
    on = is_on(config.get("EnableCapture"))
    return float(config.get("InitialSamplingPercentage", 0)) if on else 0.0
