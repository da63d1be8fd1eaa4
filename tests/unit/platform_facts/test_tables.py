"""Invariants of every table row; a failure lists the rows that violate one."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import platform_facts
from platform_facts import Backend, Gpu, InstanceType, Release
from platform_facts._tables import read_table

FOLDER = Path(platform_facts.__file__).parent
ROWS = {
    (file, kind): read_table(file)[kind]
    for file, kind in (
        ("releases.toml", "backend"),
        ("releases.toml", "release"),
        ("instances.toml", "gpu"),
        ("instances.toml", "family"),
    )
} | {("regions.toml", "partition"): [*read_table("regions.toml")["partition"].values()]}
WITHOUT_SOURCE = "none read"


def test_sources_are_defined_in_the_heading_of_the_file() -> None:
    undefined = [
        (row.get("name"), source)
        for (file, kind), rows in ROWS.items()
        if kind != "backend"  # rows of backends contain the full citation
        for row in rows
        for source in row["source"].split("; ")
        if source != WITHOUT_SOURCE and f"#   {source} " not in (FOLDER / file).read_text()
    ]
    assert undefined == []
    assert all(row["source"].strip() for row in ROWS["releases.toml", "backend"])


@pytest.mark.parametrize(
    ("table", "row_type", "other_keys"),
    [
        (("releases.toml", "release"), Release, {"source", "unsourced"}),
        (("releases.toml", "backend"), Backend, {"source", "unsourced"}),
        (("instances.toml", "gpu"), Gpu, {"source", "unsourced"}),
        (("instances.toml", "family"), InstanceType, {"source", "unsourced", "sizes"}),
    ],
)
def test_rows_have_valid_keys_and_unsourced_fields(
    table: tuple[str, str], row_type: type[Any], other_keys: set[str]
) -> None:
    names = {field.name for field in fields(row_type)}
    rows = [row for family in ROWS[table] for row in (family, *family.get("sizes", ()))]
    assert [row["name"] for row in rows if not set(row) <= names | other_keys] == []
    assert [row["name"] for row in rows if not set(row.get("unsourced", ())) <= names] == []
