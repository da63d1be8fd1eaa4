from typing import TYPE_CHECKING, Any

import pytest

from model_build.publishing.catalog import Catalog

if TYPE_CHECKING:
    from tests.unit.model_build.fakes import FakeSsm


@pytest.fixture
def catalog(ssm: "FakeSsm") -> Catalog:
    return Catalog(ssm.client, "dev", "text")


def _entry(version: str, model: str = "minilm") -> dict[str, Any]:
    return {"model": model, "version": version}


def test_the_entries_of_one_endpoint_are_read_from_every_page(
    catalog: Catalog, ssm: "FakeSsm"
) -> None:
    names = [f"model-{number}" for number in range(5)]
    for name in names:
        ssm.put(f"/triton/dev/text/{name}", _entry("1", name))
    ssm.put("/triton/dev/text-2/minilm", _entry("1"))
    ssm.put("/triton/prod/text/minilm", _entry("1"))
    assert catalog.entries() == {name: _entry("1", name) for name in names}


def test_an_empty_catalog_has_no_entries(catalog: Catalog) -> None:
    assert catalog.entries() == {}


def test_a_flip_writes_what_clients_resolve_the_model_to(catalog: Catalog, ssm: "FakeSsm") -> None:
    ssm.put("/triton/dev/text/minilm", _entry("1"))
    catalog.flip(_entry("2"))
    assert catalog.entries() == {"minilm": _entry("2")}
    assert ssm.writes[0]["Value"] == '{"model":"minilm","version":"2"}'
    assert ssm.writes[0]["Description"] == "Current archive of minilm"


def test_what_an_entry_said_before_comes_latest_first_and_each_version_once(
    catalog: Catalog, ssm: "FakeSsm"
) -> None:
    for version in ("1", "2", "2", "1", "3", "2"):
        ssm.put("/triton/dev/text/minilm", _entry(version))
    assert [it["version"] for it in catalog.earlier("minilm")] == ["2", "3", "1"]
