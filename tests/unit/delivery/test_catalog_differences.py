"""Tests of the comparison of the catalog with the templates."""

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from delivery.catalog import CatalogDifference, _restore_entries, differences
from release.templates import Template

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

NAME = "/triton/prod/text/minilm"


class FakeSsm:
    """Parameters below /triton/prod/text; the values of each parameter, the newest last."""

    def __init__(self, **parameters: list[dict[str, Any]]) -> None:
        self.values = {
            f"/triton/prod/text/{name}": versions for name, versions in parameters.items()
        }
        self.put_requests: list[dict[str, Any]] = []

    def get_paginator(self, operation: str) -> "FakeSsm":
        self.paginate = getattr(self, f"_{operation}")
        return self

    def _get_parameters_by_path(self, *, Path: str) -> list[dict[str, Any]]:  # noqa: N803
        versions = [
            {"Name": name, "Value": json.dumps(values[-1])}
            for name, values in self.values.items()
            if name.startswith(f"{Path}/")
        ]
        return [{"Parameters": versions}]

    def _get_parameter_history(self, *, Name: str) -> list[dict[str, Any]]:  # noqa: N803
        return [
            {
                "Parameters": [
                    {
                        "Value": json.dumps(value),
                        "Version": number,
                        "LastModifiedDate": datetime(2026, 11, 22, 3, number, tzinfo=UTC),
                        "LastModifiedUser": "arn:aws:iam::123456789012:user/ada",
                    }
                    for number, value in enumerate(self.values[Name], 1)
                ]
            }
        ]

    def put_parameter(self, **request: Any) -> None:
        self.put_requests.append(request)


def entry(version: str, *, archive: str | None = "{}.tar.gz") -> dict[str, Any]:
    return {
        "model": "minilm",
        "version": version,
        "endpoint": "prod-text",
        "target_model": archive and archive.format(version),
        "signature": {},
    }


def compare(ssm: FakeSsm, template_entry: dict[str, Any] | None) -> list[CatalogDifference]:
    properties = {"Name": NAME, "Value": json.dumps(template_entry)}
    resource = {"Type": "AWS::SSM::Parameter", "Properties": properties}
    template: Template = {"Resources": {"Entry": resource} if template_entry else {}}
    return differences(cast("SSMClient", ssm), "prod", {"text": template})


def test_same_entry_is_no_difference() -> None:
    assert compare(FakeSsm(minilm=[entry("a")]), entry("a")) == []


def test_published_copy_is_not_repairable() -> None:
    published = entry("a", archive="published/{}.tar.gz")
    (difference,) = compare(FakeSsm(minilm=[published]), entry("a"))
    assert difference.is_published_copy
    assert not difference.is_repairable  # before a deploy the builder's archive may be missing
    assert difference.command == "make deliver STAGE=prod"
    assert "in another archive, published/a.tar.gz, since" in difference.text


def test_invalid_entry_is_repairable() -> None:
    for broken in ({}, {"version": "9999"}, {**entry("a"), "version": 9999}, "no entry"):
        (difference,) = compare(FakeSsm(minilm=[cast(Any, broken)]), entry("a"))
        assert difference.is_repairable
        assert difference.command == "make deliver STAGE=prod"
        assert "minilm: the catalog's entry is broken, since 2026" in difference.text


def test_earlier_version_is_restored_by_a_rollback() -> None:
    ssm = FakeSsm(minilm=[entry("b"), entry("a")])
    (difference,) = compare(ssm, entry("b"))
    assert not difference.is_repairable
    assert difference.text == (
        "text/minilm: the catalog has version a instead of b, since 2026-11-22 03:02:00 UTC, by "
        "arn:aws:iam::123456789012:user/ada"
    )
    assert difference.command == "tritonsm rollback prod text minilm --to b"


def test_unpublished_version_is_restored_by_publishing() -> None:
    (difference,) = compare(FakeSsm(minilm=[entry("a")]), entry("b"))
    assert difference.command == "tritonsm publish prod text models/minilm"


def test_model_without_a_template_entry_is_deleted_by_hand() -> None:
    (difference,) = compare(FakeSsm(minilm=[entry("a")]), None)
    assert difference.text.endswith("and the commit does not have this model")
    assert not difference.is_repairable
    assert difference.command == f"aws ssm delete-parameter --name {NAME}"


def test_missing_entry_is_restored_without_overwriting() -> None:
    ssm = FakeSsm()
    (difference,) = compare(ssm, entry("b"))
    assert difference.is_repairable
    _restore_entries(cast("SSMClient", ssm), [difference])
    (request,) = ssm.put_requests
    assert (request["Name"], json.loads(request["Value"])) == (NAME, entry("b"))
    assert request["Overwrite"] is False


def test_entry_of_a_single_model_endpoint_is_overwritten() -> None:
    ssm = FakeSsm(minilm=[entry("a", archive=None)])
    (difference,) = compare(ssm, entry("b", archive=None))
    assert difference.is_repairable
    _restore_entries(cast("SSMClient", ssm), [difference])
    assert json.loads(ssm.put_requests[0]["Value"]) == entry("b", archive=None)
    assert ssm.put_requests[0]["Overwrite"] is True
