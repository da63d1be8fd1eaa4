"""Invariants of every table row; a failure lists the rows that violate one."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import platform_facts
from platform_facts import (
    Backend,
    Gpu,
    InferenceAmi,
    InstanceType,
    Release,
    backends,
    gpus,
    inference_amis,
    instance_types,
    regions,
    releases,
)
from platform_facts._tables import read_table

WITH_UNSOURCED = (*backends(), *gpus(), *instance_types(), *releases())
ROWS = (*WITH_UNSOURCED, *inference_amis(), *regions())
FILES = {
    Release: "releases.toml",
    Gpu: "instances.toml",
    InstanceType: "instances.toml",
    InferenceAmi: "inference_amis.toml",
    platform_facts.Region: "regions.toml",
}


def violations(invariant: Callable[[Any], bool], rows: tuple[Any, ...] = ROWS) -> list[str]:
    """Return the rows that violate an invariant."""
    return [f"{type(row).__name__} {row.name}" for row in rows if not invariant(row)]


def test_every_row_has_a_source() -> None:
    assert violations(lambda row: bool(row.source.strip())) == []


def test_sources_are_defined_in_the_heading_of_the_file() -> None:
    folder = Path(platform_facts.__file__).parent
    headings = {kind: (folder / name).read_text() for kind, name in FILES.items()}

    def has_citation(row: Any) -> bool:
        if isinstance(row, Backend) or row.source == "none read":
            return True  # rows of backends contain the full citation
        heading = headings[type(row)]
        return all(f"#   {short_name} " in heading for short_name in row.source.split("; "))

    assert violations(has_citation) == []


def test_unsourced_names_are_distinct_fields() -> None:
    def has_valid_names(row: Any) -> bool:
        names = {field.name for field in fields(row)}
        return set(row.unsourced) <= names and len(row.unsourced) == len(set(row.unsourced))

    assert violations(has_valid_names, WITH_UNSOURCED) == []


def test_fields_without_value_are_marked_unsourced() -> None:
    def missing_fields(row: Any) -> set[str]:
        return {field.name for field in fields(row) if getattr(row, field.name) is None} - {
            "maximum_compute_capability"  # None: no upper limit, not unknown
        }

    assert violations(lambda row: missing_fields(row) <= set(row.unsourced), releases()) == []


def test_rows_without_source_are_marked_unsourced() -> None:
    unread = tuple(row for row in gpus() if row.source == "none read")
    assert violations(lambda row: "compute_capability" in row.unsourced, unread) == []


@pytest.mark.parametrize(
    ("file_name", "key", "row_type", "extra_keys"),
    [
        ("releases.toml", "release", Release, set()),
        ("releases.toml", "backend", Backend, set()),
        ("instances.toml", "gpu", Gpu, set()),
        ("instances.toml", "family", InstanceType, {"sizes"}),
    ],
)
def test_tables_have_only_known_keys(
    file_name: str, key: str, row_type: type[Any], extra_keys: set[str]
) -> None:
    rows = read_table(file_name)[key]
    sizes = [size for row in rows for size in row.get("sizes", ())]
    known = {field.name for field in fields(row_type)} | extra_keys
    assert [row["name"] for row in (*rows, *sizes) if not set(row) <= known] == []


def test_regions_have_only_known_keys() -> None:
    rows = {
        name: row
        for partition in read_table("regions.toml")["partition"].values()
        for name, row in partition["regions"].items()
    }
    assert [name for name, row in rows.items() if not set(row) <= {"since", "before"}] == []
