"""Items of the catalog: revisions, conditions, and what other writers leave."""

import json
import shlex
from typing import Any

import pytest

from plan.catalog import Catalog, ChangedMeanwhile, listed, stages_with_catalog
from tests.catalog_items import break_entry, current, delete_entry, memory_catalog, write_entry


@pytest.fixture
def catalog() -> Catalog:
    return memory_catalog("dev")


def _entry(version: str, model: str = "minilm") -> dict[str, Any]:
    archive = f"{model}-{version}.tar.gz"
    names = {"model": model, "version": version, "endpoint": "dev-text-g5"}
    return {**names, "target_model": archive, "signature": {}}


def test_entries_of_an_endpoint_are_read_from_every_batch(catalog: Catalog) -> None:
    names = [f"model-{number:03}" for number in range(101)]
    for name in names:
        write_entry(catalog, _entry("1", name))
    write_entry(Catalog(catalog.dynamodb, "dev", "text-2"), _entry("1"))
    revisions = catalog.current()
    assert [revision.entry for revision in revisions.values()] == [_entry("1", n) for n in names]
    assert catalog.endpoint_name() == "dev-text-g5"
    assert len([*listed(catalog.dynamodb, "dev")]) == 102


def test_item_in_the_index_of_another_endpoint_is_ignored(catalog: Catalog) -> None:
    write_entry(catalog, _entry("1"))
    forged = {"model_key": {"S": "text-2#fraud"}, "revision": {"N": "0"}}
    catalog.dynamodb.put_item(
        TableName="triton-catalog-dev",
        Item={**forged, "endpoint": {"S": catalog.endpoint}, "entry": {"S": "{}"}},
    )
    assert catalog.current().keys() == {"minilm"}
    assert [revision.model for revision in listed(catalog.dynamodb, "dev")] == ["minilm"]


def test_catalog_without_a_table_is_empty(catalog: Catalog) -> None:
    other = Catalog(catalog.dynamodb, "prod", "text")
    assert other.current(["minilm"]) == {}
    assert other.endpoint_name() == "prod-text"
    assert stages_with_catalog(catalog.dynamodb) == ["dev"]


def test_deletion_of_an_item_with_any_name_is_one_command() -> None:
    """Publishers choose the names of items, and people with more rights paste the command."""
    model = "x'; touch y; '$(z)`w`"
    arguments = shlex.split(Catalog(None, "dev", "text").delete_command(model))
    assert json.loads(arguments.pop())["model_key"] == {"S": f"text#{model}"}
    assert len(arguments) == 6


def test_history_has_causes_and_callers(catalog: Catalog) -> None:
    write_entry(catalog, _entry("1"))
    write_entry(catalog, _entry("2"), cause="published")
    write_entry(catalog, _entry("1"), cause="rolled back")
    assert [(r.number, r.version, r.cause, r.caller) for r in catalog.history("minilm")] == [
        (1, "1", "deployed", "arn:ada"),
        (2, "2", "published", "arn:ada"),
        (3, "1", "rolled back", "arn:ada"),
    ]
    revision = current(catalog, "minilm")
    assert revision == catalog.history("minilm")[-1]


def test_second_of_two_writers_is_refused(catalog: Catalog) -> None:
    write_entry(catalog, _entry("1"))
    read = current(catalog, "minilm")
    catalog.write(_entry("2"), "published", caller="arn:ada", replaces=read)
    for replaces in (read, None):
        with pytest.raises(ChangedMeanwhile, match="minilm in triton-catalog-dev/text was changed"):
            catalog.write(_entry("3"), "published", caller="arn:bob", replaces=replaces)
    assert [revision.version for revision in catalog.history("minilm")] == ["1", "2"]


def test_deleted_and_broken_items_are_repaired_with_their_history(
    catalog: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    write_entry(catalog, _entry("1"))
    delete_entry(catalog, "minilm")
    assert current(catalog, "minilm") is None
    write_entry(catalog, _entry("2"))
    break_entry(catalog, "minilm")
    revision = current(catalog, "minilm")
    assert revision
    assert (revision.entry, revision.time) == ({}, "")
    write_entry(catalog, _entry("3"))
    assert [revision.version for revision in catalog.history("minilm")] == ["1", "2", "3"]
    key = {"model_key": {"S": "text#minilm"}, "revision": {"N": "2"}}
    item = key | {"entry": {"S": '{"version": 9999}'}}
    catalog.dynamodb.put_item(TableName="triton-catalog-dev", Item=item)
    assert [revision.version for revision in catalog.history("minilm")] == ["1", "3"]
    warning = "! revision 2 of minilm in triton-catalog-dev/text is not a catalog entry: left out\n"
    assert capsys.readouterr().err == warning
