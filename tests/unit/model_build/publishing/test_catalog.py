import json
from typing import Any

import pytest
from model_build.publishing.catalog import Catalog, CatalogVersion, Cause, predecessors_and_current

from tests.unit.model_build.fakes import FakeSsm


@pytest.fixture
def catalog(ssm: FakeSsm) -> Catalog:
    return Catalog(ssm.client, "dev", "text")


def _entry(version: str, model: str = "minilm") -> dict[str, Any]:
    archive = f"{model}-{version}.tar.gz"
    return {"model": model, "version": version, "endpoint": "dev-text", "target_model": archive}


def test_entries_of_an_endpoint_are_read_from_every_page(catalog: Catalog, ssm: FakeSsm) -> None:
    names = [f"model-{number}" for number in range(5)]
    for name in names:
        ssm.put(f"/triton/dev/text/{name}", _entry("1", name))
    ssm.put("/triton/dev/text-2/minilm", _entry("1"))
    ssm.put("/triton/prod/text/minilm", _entry("1"))
    assert catalog.entries() == {name: _entry("1", name) for name in names}


def test_set_current_writes_the_entry_and_its_cause(catalog: Catalog, ssm: FakeSsm) -> None:
    ssm.put("/triton/dev/text/minilm", _entry("1"))
    catalog.set_current(_entry("2"), "published")
    catalog.set_current(_entry("1"), "rolled back")
    assert catalog.entries() == {"minilm": _entry("1")}
    assert json.loads(ssm.writes[0]["Value"]) == _entry("2")
    assert ssm.writes[0]["Description"] == "Current archive of minilm, published"
    assert [(version.version, version.cause) for version in catalog.history("minilm")] == [
        ("1", "deployed"),
        ("2", "published"),
        ("1", "rolled back"),
    ]


def test_invalid_history_values_are_skipped_with_a_warning(
    catalog: Catalog, ssm: FakeSsm, capsys: pytest.CaptureFixture[str]
) -> None:
    ssm.put("/triton/dev/text/minilm", _entry("1"))
    ssm.put("/triton/dev/text/minilm", {"version": 9999})
    ssm.put("/triton/dev/text/minilm", _entry("2"))
    assert [version.version for version in catalog.history("minilm")] == ["1", "2"]
    warning = "! /triton/dev/text/minilm:2 is not a catalog entry: left out\n"
    assert capsys.readouterr().err == warning


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ("1 2 3", "1 2 3"),
        ("1 2 2 3", "1 2 3"),
        ("1 2 3 back:2", "1 2"),
        ("1 2 3 back:2 4", "1 2 4"),
        ("1 2 3 back:1 4 back:1", "1"),
        ("1 2 3 2", "1 2"),
        ("1 2 3 published:1", "1 2 3 1"),
        ("1 2 published:2", "1 2"),
        ("1 2 3 published:1 back:3", "1 2 3"),
        ("1 2 back:1 published:2", "1 2"),
    ],
)
def test_rolled_back_versions_are_not_predecessors(history: str, expected: str) -> None:
    causes: dict[str, Cause] = {"": "deployed", "back": "rolled back", "published": "published"}
    values = [value.rpartition(":") for value in history.split()]
    versions = predecessors_and_current(
        [CatalogVersion(_entry(version), causes[cause]) for cause, _, version in values]
    )
    assert [version.version for version in versions] == expected.split()
