"""Tests of the archives that a move of an endpoint needs."""

from typing import Any, cast

import pytest

from delivery.archives import EndpointMove
from delivery.errors import NotDelivered
from plan.archives import ArchiveBucket

OLD, NEW = "text/cuda-25.04-sm86/", "text/cuda-25.09-sm86/"
BERT, MINILM = "bert-0-0123456789ab.tar.gz", "minilm-aaaaaaaaaaaa.tar.gz"
PUBLISHED = f"published/{BERT}"
MANIFEST = {"digest": "d", "source": {"model": "bert-0", "alternative": None}}


class FakeBucket:
    """A bucket with manifests by archive, and other keys."""

    name = "models"

    def __init__(self) -> None:
        self.manifests: dict[str, Any] = {}
        self.keys = {"sources/d.zip"}

    def manifest(self, archive: str) -> Any:
        return self.manifests.get(archive)

    def checksum(self, key: str) -> str | None:
        return "" if key in self.keys else None


@pytest.fixture
def bucket() -> FakeBucket:
    return FakeBucket()


@pytest.fixture
def move() -> EndpointMove:
    return EndpointMove("prod", "text", frozenset({OLD, NEW}), frozenset({BERT, MINILM}))


@pytest.mark.parametrize(
    ("archive", "manifests", "reason"),
    [
        (BERT, {}, f"the catalog names it, but none of {OLD}, {NEW} has it"),
        (BERT, {OLD + BERT: MANIFEST}, "its source s3://models/sources/d.zip was deleted"),
        (
            PUBLISHED,
            {OLD + PUBLISHED: MANIFEST},  # a forged manifest
            "version 0123456789ab of bert-0 was published by hand; deliveries do not build or copy "
            "it",
        ),
        (
            f"x/{PUBLISHED}",
            {f"{OLD}x/{PUBLISHED}": MANIFEST},
            "version 0123456789ab of bert-0 was published by hand",
        ),
    ],
    ids=["missing archive", "missing source", "published archive", "published in a folder"],
)
def test_archive_that_cannot_be_built_is_an_error(
    archive: str, manifests: dict[str, Any], reason: str, move: EndpointMove, bucket: FakeBucket
) -> None:
    bucket.manifests = manifests
    if archive == BERT:
        bucket.keys.clear()
    with pytest.raises(NotDelivered, match=f"{NEW}{archive}: {reason}.*prod-text cannot move"):
        move.item(NEW + archive, archive, {}, cast(ArchiveBucket, bucket))
