"""Tests of the archives that a move of an endpoint needs."""

from typing import Any, cast

import pytest

from release.delivery.archive_bucket import ArchiveBucket
from release.delivery.endpoint_moves import Move
from release.delivery.errors import NotDelivered
from release.stack_endpoints import StackEndpoint

OLD, NEW = "text/cuda-25.04-sm86/", "text/cuda-25.09-sm86/"
ARCHIVE, OTHER = "bert-0-0123456789ab.tar.gz", "minilm-aaaaaaaaaaaa.tar.gz"
SOURCE = {"model": "bert-0", "alternative": None}


class FakeBucket:
    """A bucket with manifests by archive, and other keys."""

    name = "models"

    def __init__(self) -> None:
        self.manifests: dict[str, Any] = {}
        self.keys = {"sources/d.zip", "sources/0123456789abcdef.zip"}

    def manifest(self, archive: str) -> Any:
        return self.manifests.get(archive)

    def is_complete(self, archive: str) -> bool:
        return archive in self.manifests

    def checksum(self, key: str) -> str | None:
        return "" if key in self.keys else None


@pytest.fixture
def bucket() -> FakeBucket:
    return FakeBucket()


@pytest.fixture
def move() -> Move:
    endpoint = StackEndpoint("prod-text", "text", "prod-text", "Config")
    return Move("prod", endpoint, frozenset({OLD, NEW}), frozenset({ARCHIVE, OTHER}))


def build(move: Move, key: str, bucket: FakeBucket, **builds: Any) -> Any:
    """Return the build of a missing key, or raise its error."""
    result = dict(move.missing(builds, cast(ArchiveBucket, bucket)))[key]
    if isinstance(result, NotDelivered):
        raise result
    return result


def test_every_archive_is_needed_below_every_prefix(move: Move, bucket: FakeBucket) -> None:
    bucket.manifests = {OLD + ARCHIVE: {"digest": "d", "source": SOURCE}}
    missing = dict(move.missing({NEW + OTHER: {}}, cast(ArchiveBucket, bucket)))
    assert list(missing) == [NEW + ARCHIVE, OLD + OTHER]


def test_old_archive_is_built_from_its_source(move: Move, bucket: FakeBucket) -> None:
    bucket.manifests = {OLD + ARCHIVE: {"digest": "0123456789abcdef", "source": SOURCE}}
    assert build(move, NEW + ARCHIVE, bucket) == {
        "Model": "bert-0",
        "Alternative": "",
        "Digest": "0123456789abcdef",
        "Target": "cuda-25.09-sm86",
        "Bucket": "models",
        "Key": NEW + ARCHIVE,
        "Source": "models/sources/0123456789abcdef.zip",
    }


def test_new_archive_is_built_for_another_target(move: Move, bucket: FakeBucket) -> None:
    own = {"Key": NEW + OTHER, "Target": "cuda-25.09-sm86", "Source": "assets/a.zip"}
    assert build(move, OLD + OTHER, bucket, **{NEW + OTHER: own}) == {
        "Key": OLD + OTHER,
        "Target": "cuda-25.04-sm86",
        "Source": "assets/a.zip",
    }


def refusal(move: Move, bucket: FakeBucket) -> str:
    with pytest.raises(NotDelivered) as refused:
        build(move, NEW + ARCHIVE, bucket)
    return str(refused.value)


FIXES = (
    ". prod-text cannot move without it. Deliver this version of bert-0 before the move; or go "
    "back to a delivered version: tritonsm rollback prod text bert-0; or, if no client uses "
    "bert-0: aws ssm delete-parameter --name /triton/prod/text/bert-0"
)


def test_missing_archive_is_refused_with_fixes(move: Move, bucket: FakeBucket) -> None:
    reason = f"the catalog names it, but none of {OLD}, {NEW} has it"
    assert refusal(move, bucket) == f"{NEW}{ARCHIVE}: {reason}{FIXES}"


def test_archive_without_source_is_refused(move: Move, bucket: FakeBucket) -> None:
    bucket.manifests = {OLD + ARCHIVE: {"digest": "d", "source": SOURCE}}
    bucket.keys.clear()
    reason = "its source s3://models/sources/d.zip was deleted"
    assert refusal(move, bucket) == f"{NEW}{ARCHIVE}: {reason}{FIXES}"


def test_published_archive_is_not_built(bucket: FakeBucket) -> None:
    endpoint = StackEndpoint("prod-text", "text", "prod-text", "Config")
    archives = frozenset({f"published/{ARCHIVE}", OTHER})
    move = Move("prod", endpoint, frozenset({OLD, NEW}), archives)
    place = f"published/{ARCHIVE}"
    bucket.manifests = {OLD + place: {"digest": "d", "source": SOURCE}}  # a forged manifest
    with pytest.raises(NotDelivered) as refused:
        build(move, NEW + place, bucket)
    reason = (
        "version 0123456789ab of bert-0 was published by hand; deliveries do not build or copy it"
    )
    assert str(refused.value) == f"{NEW}{place}: {reason}{FIXES}"
