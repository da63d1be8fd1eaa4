"""Tests of the comparison of the catalog with the deployed entries."""

import io
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import boto3
import pytest
from botocore.response import StreamingBody

from delivery.catalog import CatalogDifference, _restore_repairable, deployed_entries, differences
from delivery.errors import ChangedByHand
from plan.catalog import Catalog
from platform_facts.rules.catalog import entry_text, list_text
from release.templates import Template
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
    return differences(session, "prod", {"text": entries})


def test_published_copy_is_not_repairable(catalog: Catalog) -> None:
    write_entry(catalog, entry("a", archive="published/{}.tar.gz"), cause="published")
    (difference,) = compare(catalog, entry("a"))
    assert difference.is_published_copy
    assert not difference.is_repairable  # before a deploy the builder's archive may be missing
    assert difference.command == "make deliver STAGE=prod"
    assert "in another archive, published/a.tar.gz, since" in difference.text


def test_earlier_version_is_restored_by_a_rollback(catalog: Catalog) -> None:
    write_entry(catalog, entry("b"))
    write_entry(catalog, entry("a"))
    (difference,) = compare(catalog, entry("b"))
    assert not difference.is_repairable
    revision = current(catalog, "minilm")
    assert revision
    time = revision.time.replace("T", " ").replace("+00:00", " UTC")
    assert difference.text == (
        f"text/minilm: the catalog has version a instead of b, since {time}, by arn:ada"
    )
    assert difference.command == "tritonsm rollback prod text minilm --to b"


def test_missing_entry_is_restored_without_overwriting(catalog: Catalog) -> None:
    write_entry(catalog, entry("a"))
    delete_entry(catalog, "minilm")
    (difference,) = compare(catalog, entry("b"))
    assert difference.is_repairable
    assert _restore_repairable(SESSION, [difference]) == []
    revision = current(catalog, "minilm")
    assert revision
    assert (revision.entry, revision.caller) == (entry("b"), FakeSts().get_caller_identity()["Arn"])
    with pytest.raises(ChangedByHand, match="minilm in triton-catalog-prod/text was changed"):
        _restore_repairable(SESSION, [difference])


def test_deployed_entries_are_those_of_the_list_in_the_template() -> None:
    class Session:
        region_name = "us-east-1"

        def client(self, _: str) -> Any:
            return self

        def get_caller_identity(self) -> dict[str, str]:
            return {"Account": "1"}

        def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
            assert (Bucket, Key) == ("assets-1-us-east-1", "prod/list.jsonl")
            content = list_text(
                map(entry_text, [entry("a"), {**entry("b"), "model": "bert"}])
            ).encode()
            return {"Body": StreamingBody(io.BytesIO(content), len(content))}

    bucket = {"Fn::Sub": "assets-${AWS::AccountId}-${AWS::Region}"}
    properties = {"List": {"Fn::Join": ["", [bucket, "/prod/list.jsonl"]]}}
    template: Template = {
        "Resources": {"Items": {"Type": "Custom::TritonCatalog", "Properties": properties}}
    }
    session: Any = Session()
    entries = deployed_entries(session, template)
    assert entries == {"minilm": entry("a"), "bert": {**entry("b"), "model": "bert"}}
    assert deployed_entries(session, {"Resources": {}}) == {}
