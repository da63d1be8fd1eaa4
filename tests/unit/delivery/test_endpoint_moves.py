"""Tests of the archives that a move of an endpoint needs."""

from dataclasses import replace
from typing import Any, cast

import pytest

from delivery.archives import EndpointMove
from delivery.errors import NotDelivered
from plan.archives import ArchiveBucket
from platform_facts.rules.builds import BuildItem

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

    def incomplete(self, archives: list[str]) -> list[str]:
        return [archive for archive in archives if archive not in self.manifests]

    def checksum(self, key: str) -> str | None:
        return "" if key in self.keys else None


@pytest.fixture
def bucket() -> FakeBucket:
    return FakeBucket()


@pytest.fixture
def move() -> EndpointMove:
    return EndpointMove("prod", "text", frozenset({OLD, NEW}), frozenset({BERT, MINILM}))


ITEM = BuildItem(
    source="prod/a.zip",
    model="minilm",
    digest="a" * 64,
    target="cuda-25.09-sm86",
    key=NEW + MINILM,
)


def item_below(
    move: EndpointMove, prefix: str, archive: str, bucket: FakeBucket, *items: BuildItem
) -> BuildItem:
    by_key = {item.key: item for item in items}
    return move.item(prefix + archive, archive, by_key, cast(ArchiveBucket, bucket))


def test_every_archive_is_needed_below_every_prefix(move: EndpointMove, bucket: FakeBucket) -> None:
    bucket.manifests = {OLD + BERT: MANIFEST}
    missing = move.missing_archives({NEW + MINILM: ITEM}, cast(ArchiveBucket, bucket))
    assert sorted(missing) == [(OLD + MINILM, MINILM), (NEW + BERT, BERT)]


def test_old_archive_is_built_from_its_source(move: EndpointMove, bucket: FakeBucket) -> None:
    bucket.manifests = {OLD + BERT: MANIFEST}
    assert item_below(move, NEW, BERT, bucket) == BuildItem(
        source="sources/d.zip",
        model="bert-0",
        digest="d",
        target="cuda-25.09-sm86",
        key=NEW + BERT,
    )


def test_new_archive_is_built_for_the_old_target(move: EndpointMove, bucket: FakeBucket) -> None:
    assert item_below(move, OLD, MINILM, bucket, ITEM) == replace(
        ITEM, key=OLD + MINILM, target="cuda-25.04-sm86"
    )


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
    ],
    ids=["missing archive", "missing source", "published archive"],
)
def test_archive_that_cannot_be_built_is_an_error(
    archive: str, manifests: dict[str, Any], reason: str, move: EndpointMove, bucket: FakeBucket
) -> None:
    bucket.manifests = manifests
    if archive == BERT:
        bucket.keys.clear()
    with pytest.raises(NotDelivered, match=f"{NEW}{archive}: {reason}. prod-text cannot move"):
        item_below(move, NEW, archive, bucket)
