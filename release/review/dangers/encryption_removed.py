"""Keys that no longer encrypt."""

from collections.abc import Iterator
from typing import Any

from release.review.comparison import Comparison
from release.review.dangers.found import Found

_KEYS = (
    "KmsKeyId",
    "KmsMasterKeyId",
    "EncryptionKey",
    "BucketEncryption",
    "KMSMasterKeyID",
)
_NOTHING = {"Ref": "AWS::NoValue"}


def encryption_removed(comparison: Comparison) -> Iterator[Found]:
    """A resource that stays no longer names the key, or the encryption, that it named."""
    for change in comparison.changes:
        if change.after:
            before, after = (_keys(it.get("Properties")) for it in (change.before, change.after))
            for key in sorted(before - after):
                subject = f"{change.stack}.{change.path}"
                yield Found(
                    f"{subject}.{key}",
                    f"{change.type} {change.path} loses its encryption with {key}",
                    group=subject,
                    heading=f"{change.type} {change.path} loses its encryption",
                )


def _keys(value: Any) -> set[str]:
    """Return which of the properties that encrypt are set, at any depth."""
    if isinstance(value, list):
        return {name for it in value for name in _keys(it)}
    if not isinstance(value, dict):
        return set()
    own = {name for name, it in value.items() if name in _KEYS and it != _NOTHING}
    return own | {name for it in value.values() for name in _keys(it)}
