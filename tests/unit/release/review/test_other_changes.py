"""What has no sentence of its own is said all the same."""

import copy
from typing import Any

import pytest

from release.review.comparison import Comparison
from release.review.other_changes import MOST, other_changes
from release.stage_file import StageFile
from tests.unit.release.review.resources import RESOURCES

FILE = StageFile(region="us-east-1", production=True)


def said(before: dict[str, Any], after: dict[str, Any], stack: str = "prod-text") -> list[str]:
    """Return the notes on a stack with these resources."""
    old, new = ({stack: {"Resources": it}} for it in (before, after))
    return list(other_changes(Comparison("prod", old, new, FILE, FILE)))


def changed(name: str, **properties: Any) -> dict[str, Any]:
    resources = copy.deepcopy(RESOURCES)
    resources[name]["Properties"].update(properties)
    return resources


def test_a_property_is_said_with_what_it_was_and_is() -> None:
    assert said(RESOURCES, changed("Log", RetentionInDays=60)) == [
        "**prod-text**, also: RetentionInDays of AWS::Logs::LogGroup Log: 30 -> 60"
    ]


def test_the_same_property_of_many_is_said_once() -> None:
    after = changed("AllTrafficErrors", Threshold=0.5)
    after["Quota"]["Properties"]["Threshold"] = 0.5
    assert said(RESOURCES, after) == [
        "**prod-text**, also: Threshold of 2 AWS::CloudWatch::Alarm: 1 -> 0.5"
    ]


def test_what_an_endpoint_s_sentence_says_is_not_said_again() -> None:
    config = copy.deepcopy(RESOURCES["Config"]["Properties"]["ProductionVariants"])
    config[0] |= {"InstanceType": "ml.g5.2xlarge", "VolumeSizeInGB": 100}
    assert said(RESOURCES, changed("Config", ProductionVariants=config)) == [
        "**prod-text**, also: ProductionVariants.VolumeSizeInGB of AWS::SageMaker::EndpointConfig "
        "Config: none -> 100"
    ]


def test_a_custom_resource_of_which_the_cdk_knows_nothing() -> None:
    before, after = (
        {"Check": {"Type": "Custom::TritonUpdateCheck", "Properties": {"Endpoint": it}}}
        for it in ("prod-text", "prod-other")
    )
    assert said(before, after, "prod-models") == [
        "**prod-models**, also: Endpoint of Custom::TritonUpdateCheck Check: prod-text -> "
        "prod-other"
    ]


def test_access_that_goes() -> None:
    after = copy.deepcopy(RESOURCES)
    after["Policy"]["Properties"]["PolicyDocument"]["Statement"][0]["Action"] = ["s3:ListBucket"]
    (line,) = said(RESOURCES, after)
    assert "also: Role may no longer s3:GetObject on Bucket" in line


@pytest.mark.parametrize("steps", [["Log"], ["Quota"]])
def test_what_an_endpoint_s_stack_no_longer_has(steps: list[str]) -> None:
    after = {name: it for name, it in RESOURCES.items() if name not in steps}
    kind = RESOURCES[steps[0]]["Type"]
    assert said(RESOURCES, after) == [f"**prod-text**, also: 1 {kind} deleted"]


def test_a_catalog_entry_that_names_another_archive_of_the_same_version() -> None:
    value = RESOURCES["Entry"]["Properties"]["Value"]
    other = value.replace('"version": "1"', '"version": "1", "target_model": "b.tar.gz"')
    assert said(RESOURCES, changed("Entry", Value=other)) == [
        "**prod-text**, also: Value.target_model of AWS::SSM::Parameter Entry: none -> b.tar.gz"
    ]
    assert said(RESOURCES, changed("Entry", Value=other.replace('"1", ', '"2", '))) == []


def test_text_for_people_is_in_the_difference_alone() -> None:
    assert said(RESOURCES, changed("Quota", AlarmDescription="it is full")) == []


def test_a_stack_of_much_is_cut_off() -> None:
    many = {f"P{it}": it for it in range(MOST + 2)}
    (line,) = said(RESOURCES, changed("Topic", **many))
    assert line.count("of AWS::SNS::Topic Topic") == MOST
    assert line.endswith("; 2 more in the difference")


def test_outputs_without_any_resource() -> None:
    before, after = (
        {"prod-models": {"Resources": {}, "Outputs": {"Name": {"Value": it}}}} for it in "ab"
    )
    assert list(other_changes(Comparison("prod", before, after, FILE, FILE))) == [
        "**prod-models**, also: other Outputs"
    ]
