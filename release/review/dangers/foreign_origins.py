"""New accounts, registries, buckets and hosts in the templates of a stage."""

import re
from collections.abc import Iterator
from typing import Any

from release.review import environments
from release.review.comparison import Comparison
from release.review.dangers.danger import Danger
from release.review.values import texts

IDENTITIES = ("Policies", "ManagedPolicyArns", "Principal", "SourceAccount")
"""Properties with permissions, which are compared separately."""

BUCKETS = ("Bucket", "DestinationBucketName", "Location", "S3Bucket")
"""Properties that are, or begin with, the name of a bucket."""

_PLACES = (
    re.compile(r"(?P<account>(?<=[:/])\d{12}(?=[:/])|\d{12}(?=\.dkr\.ecr))"),
    re.compile(r"(?:s3://|arn:aws[\w-]*:s3:::)(?P<bucket>[a-z0-9][a-z0-9.-]{2,62})"),
    re.compile(r"https?://(?P<host>[\w.-]+)"),
)
_IMAGE = re.compile(
    r"(?:(?P<host>[\w-]+\.[\w.-]+(?::\d+)?)/)?(?P<owner>[\w-]+)/.+|(?P<name>[\w-]+)"
)
_BUILDS = "aws/codebuild/"
"""CodeBuild's own images (user guide, build-env-ref-available)."""


def foreign_origins(comparison: Comparison) -> Iterator[Danger]:
    """Code, images or models come from, or data and alarms go to, a new origin.

    An origin is an account, the owner of images in a registry, a bucket by name, or a host. In a
    new stage, only accounts count: there is nothing to compare the others with.
    """
    before, after = comparison.sides
    known = {place for template in before.values() for _, place in _places(template)}
    known |= {
        ("account", item.account) for item in (comparison.was, comparison.will_be) if item.account
    }
    regions = {comparison.was.region, comparison.will_be.region}
    known |= {("account", value) for region in regions for value in environments.registries(region)}
    for change in comparison.changes:
        if change.stack not in after or change.type.startswith("AWS::IAM::"):
            continue
        places = _places(change.after.get("Properties", {}))
        for path, (kind, place) in dict.fromkeys(places):
            if (kind, place) not in known and (before or kind == "account"):
                yield Danger(
                    f"{change.stack}.{change.path}.{kind}.{place}",
                    f"{change.type} {change.stack}/{change.path}: {path} names the {kind} {place}, "
                    "which the stage did not name before",
                    group=f"{kind}.{place}",
                )


def _places(value: Any, path: str = "") -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the path of the property, and kind and name of each origin in a value."""
    match value:
        case {"Statement": _}:
            return
        case dict() if not any(one.startswith("Fn::") for one in value):
            for name, item in value.items():
                if name not in IDENTITIES and not name.endswith("Description"):
                    yield from _places(item, f"{path}.{name}" if path else name)
            return
        case list():
            for entry in value:
                label = entry.get("Name") if isinstance(entry, dict) else None
                yield from _places(entry, f"{path}.{label}" if isinstance(label, str) else path)
            return
    name = path.rpartition(".")[2]
    for text in texts(value):
        for pattern in _PLACES:
            for match in pattern.finditer(text):
                yield path, next((kind, each) for kind, each in match.groupdict().items() if each)
        if name in ("Account", "AccountId") and text.isdigit():
            yield path, ("account", text)
        if name in BUCKETS and ":" not in text and "..." not in text:
            yield path, ("bucket", text.partition("/")[0])
        if name in ("Image", "ImageUri") and ".dkr.ecr." not in text:
            match_ = _IMAGE.fullmatch(text)
            if match_ and not text.startswith(_BUILDS):
                owner = match_["owner"] or "library"
                yield path, ("registry", f"{match_['host'] or 'docker.io'}/{owner}")
