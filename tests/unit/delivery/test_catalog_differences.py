"""Tests of the comparison of the catalog with the deployed entries."""

from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import boto3
import pytest

from delivery import drift
from delivery.catalog import CatalogDifference, _restore, catalog_differences
from delivery.errors import ChangedByHand
from delivery.store import redelivery
from plan.catalog import Catalog
from tests.catalog_items import current, delete_entry, memory_catalog, write_entry
from tests.unit.model_build.fakes import FakeSts

SESSION: Any = Mock(client=lambda _: FakeSts())


@pytest.fixture
def catalog() -> Catalog:
    return memory_catalog("prod")


def entry(version: str, *, archive: str | None = "{}.tar.gz") -> dict[str, Any]:
    return {
        "model": "minilm",
        "version": version,
        "endpoint": "prod-text",
        "target_model": archive and archive.format(version),
        "signature": {},
    }


def compare(catalog: Catalog, deployed: dict[str, Any] | None) -> list[CatalogDifference]:
    session = cast(boto3.Session, SimpleNamespace(client=lambda _: catalog.dynamodb))
    entries = {"minilm": deployed} if deployed else {}
    return catalog_differences(session, "prod", {"text": entries})


def test_published_copy_is_usable(catalog: Catalog) -> None:
    write_entry(catalog, entry("a", archive="published/{}.tar.gz"), cause="published")
    (difference,) = compare(catalog, entry("a"))
    assert difference.is_published_copy
    assert not difference.is_unusable  # before a deploy the builder's archive may be missing
    assert difference.command == redelivery("prod")
    assert "in another archive, published/a.tar.gz, since" in difference.text


def test_model_that_was_rolled_back_may_stay_rolled_back(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The delivered version may be the faulty one."""
    write_entry(catalog, entry("good"))
    write_entry(catalog, entry("bad"))
    write_entry(catalog, entry("good"))
    monkeypatch.setattr(drift, "deployed_entries", lambda *_: {"minilm": entry("bad")})
    session = cast(boto3.Session, SimpleNamespace(client=lambda _: catalog.dynamodb))
    (difference,) = drift._endpoint_differences(session, "prod", "prod-text", {}, None)
    assert "To keep it, deliver a release with it: make rollback STAGE=prod, or" in difference.text
    assert difference.text.endswith("To serve the delivered bad again:")
    assert difference.command == "tritonsm rollback prod text minilm --to bad"


def test_missing_entry_is_restored_without_overwriting(catalog: Catalog) -> None:
    write_entry(catalog, entry("a"))
    delete_entry(catalog, "minilm")
    (difference,) = compare(catalog, entry("b"))
    assert difference.is_unusable
    assert _restore(SESSION, [difference]) == []
    revision = current(catalog, "minilm")
    assert revision
    assert (revision.entry, revision.caller) == (entry("b"), FakeSts().get_caller_identity()["Arn"])
    with pytest.raises(ChangedByHand, match="minilm in triton-catalog-prod/text was changed"):
        _restore(SESSION, [difference])
