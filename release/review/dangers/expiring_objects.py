"""Archives and logs that S3 deletes, or puts where nobody can read them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from release.review.comparison import Comparison
from release.review.dangers.found import Found

_UNREADABLE = ("GLACIER", "DEEP_ARCHIVE")
"""Storage classes whose objects must be restored before they can be read (S3 user guide,
storage-class-intro; GLACIER is Flexible Retrieval)."""

NEVER = float("inf")


@dataclass(frozen=True)
class _End:
    """What becomes of objects below `prefix`, `days` after they were written."""

    what: str
    prefix: str
    only: str
    days: float


def expiring_objects(comparison: Comparison) -> Iterator[Found]:
    """A bucket that was there gets a lifecycle rule that takes objects away, or earlier.

    A rule without a prefix is for all objects; one that expires them deletes them (S3 user guide,
    lifecycle-expire-general-considerations). No archive that the catalog names may go: an instance
    loads it whenever somebody asks for the model.
    """
    for change in comparison.changes:
        if change.type != "AWS::S3::Bucket" or not (change.before and change.after):
            continue
        old, new = (list(_ends(it.get("Properties", {}))) for it in (change.before, change.after))
        for end in new:
            if not any(_as_early(it, end) for it in old):
                below = f"below {end.prefix}" if end.prefix else "all"
                yield Found(
                    f"{change.stack}.{change.path}.{end.prefix}{end.days:g}",
                    f"objects of the bucket {change.path} ({below}{end.only}) are {end.what} "
                    f"{end.days:g} days after they were written, whoever still needs them",
                    group=f"{change.stack}.{change.path}",
                    heading=f"{{count}} rules take objects of the bucket {change.path} away",
                )


def _ends(bucket: dict[str, Any]) -> Iterator[_End]:
    for rule in bucket.get("LifecycleConfiguration", {}).get("Rules", ()):
        if rule.get("Status") != "Enabled":
            continue
        prefix, only = _scope(rule)
        if "ExpirationInDays" in rule or "ExpirationDate" in rule:
            yield _End("deleted", prefix, only, float(rule.get("ExpirationInDays", 0)))
        moves = [*rule.get("Transitions", ()), rule.get("Transition", {})]
        for move in moves:
            if move.get("StorageClass") in _UNREADABLE:
                days = float(move.get("TransitionInDays", 0))
                yield _End("no longer readable", prefix, only, days)


def _scope(rule: dict[str, Any]) -> tuple[str, str]:
    """Return the prefix that a rule is for, and what else narrows it."""
    both = rule.get("Filter", {}).get("And", rule.get("Filter", {}))
    prefix = rule.get("Prefix") or both.get("Prefix") or ""
    rest = {key: it for key, it in both.items() if key != "Prefix"}
    if "TagFilters" in rule:
        rest["TagFilters"] = rule["TagFilters"]
    return prefix, f", if {rest}" if rest else ""


def _as_early(known: _End, end: _End) -> bool:
    """Whether a rule of before took the same objects away by then."""
    covers = end.prefix.startswith(known.prefix) and known.only in ("", end.only)
    return covers and known.what == end.what and known.days <= end.days
