"""New origins in the templates of a stage: accounts, registries, buckets and hosts."""

import re
from collections.abc import Iterator
from typing import Any

from review import environments
from review.comparison import Comparison
from review.dangers.danger import Danger
from review.values import iterate_texts

PERMISSION_PROPERTIES = ("Policies", "ManagedPolicyArns", "Principal", "SourceAccount")
"""Properties with permissions, which review/access compares."""

BUCKET_PROPERTIES = ("Bucket", "DestinationBucketName", "Location", "S3Bucket")
"""Properties whose value is a bucket's name, or begins with it."""

_ORIGINS = (
    re.compile(r"(?P<account>(?<=[:/])\d{12}(?=[:/])|\d{12}(?=\.dkr\.ecr))"),
    re.compile(r"(?:s3://|arn:aws[\w-]*:s3:::)(?P<bucket>[a-z0-9][a-z0-9.-]{2,62})"),
    re.compile(r"https?://(?P<host>[\w.-]+)"),
)
_IMAGE = re.compile(
    r"(?:(?P<host>[\w-]+\.[\w.-]+(?::\d+)?)/)?(?P<owner>[\w-]+)/.+|(?P<name>[\w-]+)"
)
_CODEBUILD_IMAGES = "aws/codebuild/"
"""Prefix of CodeBuild's own images (user guide, build-env-ref-available)."""


def new_origins(comparison: Comparison) -> Iterator[Danger]:
    """Code, images or models come from a new origin, or data and alarms are sent to it.

    An origin is an account, the owner of images in a registry, a bucket by name, or a host. In a
    new stage, only accounts are dangers: there are no earlier origins for a comparison.
    """
    before, after = comparison.templates
    files = comparison.file_before, comparison.file_after
    old_origins = {origin for template in before.values() for _, origin in _origins(template)}
    old_origins |= {("account", file.account) for file in files if file.account}
    old_origins |= {
        ("account", account)
        for file in files
        for account in environments.triton_registries(file.region)
    }
    for change in comparison.changes:
        if change.stack not in after or change.type.startswith("AWS::IAM::"):
            continue
        origins = _origins(change.after.get("Properties", {}))
        for path, (kind, name) in dict.fromkeys(origins):
            if (kind, name) not in old_origins and (before or kind == "account"):
                yield Danger(
                    f"{change.stack}.{change.path}.{kind}.{name}",
                    f"{change.type} {change.stack}/{change.path}: {path} names the {kind} {name}, "
                    "which the stage did not use before",
                    group=f"{kind}.{name}",
                )


def _origins(value: Any, path: str = "") -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield (property path, (kind, name)) of each origin in a value."""
    match value:
        case {"Statement": _}:
            return
        case dict() if not any(key.startswith("Fn::") for key in value):
            for name, item in value.items():
                if name not in PERMISSION_PROPERTIES and not name.endswith("Description"):
                    yield from _origins(item, f"{path}.{name}" if path else name)
            return
        case list():
            for entry in value:
                label = entry.get("Name") if isinstance(entry, dict) else None
                yield from _origins(entry, f"{path}.{label}" if isinstance(label, str) else path)
            return
    key = path.rpartition(".")[2]
    for text in iterate_texts(value):
        for pattern in _ORIGINS:
            for match in pattern.finditer(text):
                yield path, next((kind, name) for kind, name in match.groupdict().items() if name)
        if key in ("Account", "AccountId") and text.isdigit():
            yield path, ("account", text)
        if key in BUCKET_PROPERTIES and ":" not in text and "..." not in text:
            yield path, ("bucket", text.partition("/")[0])
        if key in ("Image", "ImageUri") and ".dkr.ecr." not in text:
            image = _IMAGE.fullmatch(text)
            if image and not text.startswith(_CODEBUILD_IMAGES):
                owner = image["owner"] or "library"
                yield path, ("registry", f"{image['host'] or 'docker.io'}/{owner}")
