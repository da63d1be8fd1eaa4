"""Keys that no longer encrypt."""

from collections.abc import Iterator

from review.comparison import Comparison

_KEYS = (
    "KmsKeyId",
    "KmsMasterKeyId",
    "EncryptionKey",
    "BucketEncryption",
    "KMSMasterKeyID",
)


def encryption_removed(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """A resource that stays no longer names the key, or the encryption, that it named."""
    for change in comparison.changes:
        before, after = (it.get("Properties", {}) for it in (change.before, change.after))
        for key in _KEYS:
            if change.after and key in before and key not in after:
                yield (
                    f"{change.stack}.{change.path}",
                    f"{change.type} {change.path} loses its encryption with {key}",
                )
