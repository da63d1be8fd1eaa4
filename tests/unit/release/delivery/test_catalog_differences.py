"""The catalog, compared with what templates declare, and what a delivery writes again."""

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from release.delivery.catalog_differences import Difference, differences, restore
from release.tree import Template

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

NAME = "/triton/prod/text/minilm"


class FakeSsm:
    """Parameters, and what each has been: value, description."""

    def __init__(self, **written: list[tuple[dict[str, Any], str]]) -> None:
        self.written = {f"/triton/prod/text/{name}": each for name, each in written.items()}
        self.put: list[dict[str, Any]] = []

    def get_paginator(self, operation: str) -> "FakeSsm":
        self.paginate = getattr(self, f"_{operation}")
        return self

    def _get_parameters_by_path(self, *, Path: str) -> list[dict[str, Any]]:  # noqa: N803
        versions = [
            {"Name": name, "Value": json.dumps(values[-1][0])}
            for name, values in self.written.items()
            if name.startswith(f"{Path}/")
        ]
        return [{"Parameters": versions}]

    def _get_parameter_history(self, *, Name: str) -> list[dict[str, Any]]:  # noqa: N803
        return [
            {
                "Parameters": [
                    {
                        "Value": json.dumps(value),
                        "Description": description,
                        "Version": number,
                        "LastModifiedDate": datetime(2026, 11, 22, 3, number, tzinfo=UTC),
                        "LastModifiedUser": "arn:aws:iam::123456789012:user/ada",
                    }
                    for number, (value, description) in enumerate(self.written[Name], 1)
                ]
            }
        ]

    def put_parameter(self, **request: Any) -> None:
        self.put.append(request)


def entry(version: str, *, archive: str | None = "{}.tar.gz") -> dict[str, Any]:
    return {
        "model": "minilm",
        "version": version,
        "endpoint": "prod-text",
        "target_model": archive and archive.format(version),
        "signature": {},
    }


def compared(ssm: FakeSsm, declared: dict[str, Any] | None) -> list[Difference]:
    properties = {"Name": NAME, "Value": json.dumps(declared)}
    resource = {"Type": "AWS::SSM::Parameter", "Properties": properties}
    template: Template = {"Resources": {"Entry": resource} if declared else {}}
    return differences(cast("SSMClient", ssm), "prod", {"text": template})


def test_the_declared_entry_is_no_difference() -> None:
    assert compared(FakeSsm(minilm=[(entry("a"), "")]), entry("a")) == []


def test_a_published_archive_of_the_declared_version_is_replaced_by_the_builder_s() -> None:
    published = entry("a", archive="published/{}.tar.gz")
    (difference,) = compared(FakeSsm(minilm=[(published, "")]), entry("a"))
    assert difference.is_published_copy
    assert not difference.repairable  # before a deploy the builder's may be missing
    assert difference.command == "make deliver STAGE=prod"
    assert "in another form (archive published/a.tar.gz), since" in difference.text


def test_a_value_that_is_no_entry_is_written_again() -> None:
    for broken in ({}, {"version": "9999"}, {**entry("a"), "version": 9999}, "no entry"):
        (difference,) = compared(FakeSsm(minilm=[(cast(Any, broken), "")]), entry("a"))
        assert difference.repairable
        assert difference.command == "make deliver STAGE=prod"
        assert "minilm: the catalog's entry is broken, since 2026" in difference.text


def test_a_version_that_the_entry_had_is_brought_back_by_a_rollback() -> None:
    ssm = FakeSsm(minilm=[(entry("b"), ""), (entry("a"), "Current archive, rolled back")])
    (difference,) = compared(ssm, entry("b"))
    assert not difference.repairable
    assert difference.text == (
        "text/minilm: the catalog has version a instead of b, since 2026-11-22 03:02:00 UTC, by "
        "arn:aws:iam::123456789012:user/ada"
    )
    rollback = "tritonsm rollback prod text minilm --to b"
    assert difference.command == rollback


def test_a_version_that_the_entry_never_had_is_published() -> None:
    (difference,) = compared(FakeSsm(minilm=[(entry("a"), "")]), entry("b"))
    publish = "tritonsm publish prod text models/minilm"
    assert difference.command == publish


def test_a_model_that_the_templates_do_not_have_can_be_deleted() -> None:
    (difference,) = compared(FakeSsm(minilm=[(entry("a"), "")]), None)
    assert difference.text.endswith("and the commit does not have this model")
    assert not difference.repairable
    assert difference.command == f"aws ssm delete-parameter --name {NAME}"


def test_a_missing_entry_is_written_without_overwriting() -> None:
    ssm = FakeSsm()
    (difference,) = compared(ssm, entry("b"))
    assert difference.repairable
    restore(cast("SSMClient", ssm), [difference])
    (put,) = ssm.put
    assert (put["Name"], json.loads(put["Value"])) == (NAME, entry("b"))
    assert put["Overwrite"] is False


def test_the_entry_of_a_single_model_endpoint_is_overwritten() -> None:
    """It has one archive: an entry with another version is a mistake of whoever wrote it."""
    ssm = FakeSsm(minilm=[(entry("a", archive=None), "")])
    (difference,) = compared(ssm, entry("b", archive=None))
    assert difference.repairable
    restore(cast("SSMClient", ssm), [difference])
    assert json.loads(ssm.put[0]["Value"]) == entry("b", archive=None)
    assert ssm.put[0]["Overwrite"] is True
