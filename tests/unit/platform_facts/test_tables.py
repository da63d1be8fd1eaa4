"""Laws that every row of every table keeps."""

import tomllib
from dataclasses import FrozenInstanceError, fields
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

WITH_UNSOURCED = (*backends(), *gpus(), *inference_amis(), *instance_types(), *releases())

each_row = pytest.mark.parametrize(
    "row", [*WITH_UNSOURCED, *regions()], ids=lambda row: f"{type(row).__name__}-{row.name}"
)
each_row_with_unsourced = pytest.mark.parametrize(
    "row", WITH_UNSOURCED, ids=lambda row: f"{type(row).__name__}-{row.name}"
)


def table(file_name: str) -> dict[str, Any]:
    return tomllib.loads(Path(platform_facts.__file__).with_name(file_name).read_text())


@each_row
def test_every_row_has_a_source(row: Any) -> None:
    assert row.source.strip()


@each_row
def test_no_row_can_be_changed(row: Any) -> None:
    with pytest.raises(FrozenInstanceError):
        row.name = "other"


@each_row_with_unsourced
def test_everything_named_as_unsourced_is_a_field_and_named_once(row: Any) -> None:
    assert set(row.unsourced) <= {field.name for field in fields(row)}
    assert len(row.unsourced) == len(set(row.unsourced))


@each_row_with_unsourced
def test_what_is_unknown_is_named_as_unsourced(row: Any) -> None:
    if isinstance(row, Backend) or (isinstance(row, InstanceType) and row.gpu is None):
        return  # None says something there: "still shipped", "has no GPU"
    unknown = {field.name for field in fields(row) if getattr(row, field.name) is None}
    assert unknown <= set(row.unsourced)


@each_row
def test_a_source_is_one_that_the_heading_of_its_file_explains(row: Any) -> None:
    if isinstance(row, Backend) or row.source == "none read":
        return  # these say it in full
    file_name = {
        Release: "releases.toml",
        Gpu: "instances.toml",
        InstanceType: "instances.toml",
        InferenceAmi: "inference_amis.toml",
    }.get(type(row), "regions.toml")
    text = Path(platform_facts.__file__).with_name(file_name).read_text()
    for short_name in row.source.split("; "):
        assert f"#   {short_name} " in text


@pytest.mark.parametrize(
    ("file_name", "key", "row_type", "besides"),
    [
        ("releases.toml", "release", Release, set()),
        ("releases.toml", "backend", Backend, set()),
        ("instances.toml", "gpu", Gpu, set()),
        ("instances.toml", "family", InstanceType, {"sizes"}),
        ("inference_amis.toml", "inference_ami", InferenceAmi, set()),
    ],
)
def test_a_misspelt_key_is_noticed(
    file_name: str, key: str, row_type: type[Any], besides: set[str]
) -> None:
    rows = table(file_name)[key]
    sizes = [size for row in rows for size in row.get("sizes", ())]
    known = {field.name for field in fields(row_type)} | besides
    for row in (*rows, *sizes):
        assert set(row) <= known, row["name"]


def test_no_name_stands_twice_in_a_table() -> None:
    instances = table("instances.toml")
    assert len(releases()) == len(table("releases.toml")["release"])
    assert len(backends()) == len(table("releases.toml")["backend"])
    assert len(inference_amis()) == len(table("inference_amis.toml")["inference_ami"])
    assert len(gpus()) == len(instances["gpu"])
    assert len(instance_types()) == sum(len(family["sizes"]) for family in instances["family"])


def test_every_key_of_a_region_is_read() -> None:
    for partition in table("regions.toml")["partition"].values():
        for name, row in partition["regions"].items():
            assert set(row) <= {"since", "before", "codebuild_gpu"}, name


def test_what_nobody_read_is_marked_so() -> None:
    for row in gpus():
        if row.source == "none read":
            assert {"compute_capability", "architecture"} <= set(row.unsourced)
