"""What a reviewer is told of each endpoint and stack, without having to acknowledge it."""

import copy
from typing import Any

import pytest

from release.review.comparison import Comparison
from release.review.endpoint_changes import endpoint_changes
from release.review.model_changes import ModelChange
from release.review.stack_changes import MOST, notes
from release.stage_file import StageFile
from release.tree import Template
from tests.unit.release.review.edits import compared
from tests.unit.release.review.resources import RESOURCES
from triton_sagemaker import PublishedMetrics

FILE = StageFile(region="us-east-1", production=True)
STACK = "prod-models"
METRICS = PublishedMetrics(log_group="/metrics", namespace="Triton/text").environment()
RESTING = "its instances stay as they are"


def summary(after: dict[str, Any], before: dict[str, Any] = RESOURCES) -> list[str]:
    """Return the parts of the sentence about the endpoint of a stack with these resources."""
    (endpoint,) = endpoint_changes(compared(before, after))
    text = endpoint.sentence.removeprefix("**prod-text**: ")
    return [item for item in text.split("; ") if not item.startswith("models:")]


def note(before: dict[str, Any], after: dict[str, Any], **templates: Any) -> str:
    """Return the sentence about a stack without an endpoint, with these resources."""
    sides: list[dict[str, Template]] = [
        {STACK: {"Resources": side, **{key: value[number] for key, value in templates.items()}}}
        for number, side in enumerate((before, after))
    ]
    (line,) = notes(Comparison("prod", sides[0], sides[1], FILE, FILE))
    return line


def changed(name: str, **properties: Any) -> dict[str, Any]:
    resources = copy.deepcopy(RESOURCES)
    resources[name]["Properties"].update(properties)
    return resources


def of(kind: str, **properties: Any) -> dict[str, Any]:
    return {"It": {"Type": kind, "Properties": properties}}


def test_a_property_without_a_row_in_the_table_is_shown_with_both_values() -> None:
    before, after = (of("AWS::SQS::Queue", DelaySeconds=item) for item in (30, 60))
    assert note(before, after) == "**prod-models**: It: DelaySeconds: 30 -> 60"


def test_the_same_change_of_many_resources_is_said_once() -> None:
    before, after = (
        {name: of("AWS::SQS::Queue", DelaySeconds=item)["It"] for name in "ab"} for item in (30, 60)
    )
    assert note(before, after) == "**prod-models**: DelaySeconds: 30 -> 60 (2 AWS::SQS::Queue)"


def test_of_a_long_value_the_part_that_differs_is_shown() -> None:
    before, after = (
        of("AWS::SQS::Queue", QueueName="a" * 200 + item + "b" * 200) for item in ("OLD", "NEW")
    )
    line = note(before, after)
    assert "OLD" in line
    assert "NEW" in line
    assert len(line) < 250


def test_an_unchanged_endpoint_is_not_described() -> None:
    assert summary(RESOURCES) == ["no change"]


def test_a_sentence_names_no_model_that_does_not_change() -> None:
    models = [
        ModelChange(endpoint="prod-text", model="minilm", state="unchanged"),
        ModelChange(endpoint="prod-text", model="bert", state="rebuilt", because=("a", "b", "c")),
    ]
    (endpoint,) = endpoint_changes(compared(RESOURCES, changed("Log", RetentionInDays=60)), models)
    assert endpoint.sentence.endswith("; models: bert rebuilt (3 files)")


def test_a_variant_is_described_in_the_field_s_words() -> None:
    config = copy.deepcopy(RESOURCES["Config"]["Properties"]["ProductionVariants"])
    config[0] |= {"InstanceType": "ml.g5.2xlarge", "VolumeSizeInGB": 100}
    parts = summary(changed("Config", ProductionVariants=config))
    assert "instance type of AllTraffic: ml.g5.xlarge -> ml.g5.2xlarge" in parts
    assert "ProductionVariants.VolumeSizeInGB of AllTraffic: none -> 100" in parts


def test_a_custom_resource_of_which_the_cdk_knows_nothing() -> None:
    before, after = (
        of("Custom::TritonUpdateCheck", Endpoint=item) for item in ("prod-text", "prod-other")
    )
    assert note(before, after) == "**prod-models**: It: Endpoint: prod-text -> prod-other"


def test_access_that_goes() -> None:
    after = copy.deepcopy(RESOURCES)
    after["Policy"]["Properties"]["PolicyDocument"]["Statement"][0]["Action"] = ["s3:ListBucket"]
    assert "Role may no longer s3:GetObject on Bucket if s3:prefix StringLike text/*" in summary(
        after
    )


@pytest.mark.parametrize("name", ["Log", "Quota"])
def test_what_an_endpoint_s_stack_no_longer_has(name: str) -> None:
    after = {key: item for key, item in RESOURCES.items() if key != name}
    assert summary(after) == [RESTING, f"1 {RESOURCES[name]['Type']} deleted"]


def test_a_catalog_entry_that_names_another_archive_of_the_same_version() -> None:
    value = RESOURCES["Entry"]["Properties"]["Value"]
    other = value.replace('"version": "1"', '"version": "1", "target_model": "b.tar.gz"')
    assert summary(changed("Entry", Value=other)) == [
        RESTING,
        "Entry: Value.target_model: none -> b.tar.gz",
    ]
    assert summary(changed("Entry", Value=other.replace('"1", ', '"2", '))) == [RESTING]


def test_text_for_people_is_in_the_difference_alone() -> None:
    assert summary(changed("Quota", AlarmDescription="it is full")) == [RESTING]


def test_a_stack_of_much_is_cut_off() -> None:
    many = {f"P{item}": item for item in range(MOST + 2)}
    line = note(of("AWS::SQS::Queue"), of("AWS::SQS::Queue", **many))
    assert line.count(": none -> ") == MOST
    assert line.endswith("; 2 more in the difference")


def test_outputs_without_any_resource() -> None:
    exported = {"ExportsOutputRefA": {"Value": "a"}}
    line = note({}, {}, Outputs=({"Name": {"Value": "a"}}, {"Name": {"Value": "b"}, **exported}))
    assert line == "**prod-models**: other exports; output Name: a -> b"


@pytest.mark.parametrize(
    ("before", "after", "state"),
    [({}, METRICS, "published"), (METRICS, {}, "no longer published")],
)
def test_variables_that_publish_metrics_are_one_part_of_the_sentence(
    before: dict[str, str], after: dict[str, str], state: str
) -> None:
    container = RESOURCES["Model"]["Properties"]["PrimaryContainer"]
    sides = (
        changed("Model", PrimaryContainer={**container, "Environment": item})
        for item in (after, before)
    )
    parts = summary(*sides)
    assert f"Triton's own metrics {state}" in parts
    assert not [value for value in parts if "METRIC" in value]


def builders() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return two sides with other code in the builder."""
    before, after = (
        of("AWS::CodeBuild::Project", Source={"Location": item, "Type": "S3"}) for item in "ab"
    )
    return before, after


def test_a_change_of_the_builder_s_code_says_what_is_built_again() -> None:
    assert note(*builders()).startswith(
        "**prod-models**: It: the code that builds models changes: "
    )


def test_a_stack_that_leaves_the_app_stays() -> None:
    comparison = Comparison("prod", {STACK: {"Resources": builders()[0]}}, {}, FILE, FILE)
    assert list(notes(comparison)) == [
        "**prod-models**: no longer in the app; its stack stays until it is deleted"
    ]


def test_a_new_stack_of_much_is_counted() -> None:
    kinds = ("SNS::Topic", "SQS::Queue", "S3::Bucket", "KMS::Key", "Logs::LogGroup")
    many = {str(kind): {"Type": f"AWS::{kind}", "Properties": {}} for kind in kinds}
    comparison = Comparison("prod", {}, {STACK: {"Resources": many}}, FILE, FILE)
    assert list(notes(comparison)) == ["**prod-models**: new, 5 resources created"]


def test_a_stage_that_becomes_production() -> None:
    text = {"prod-text": {"Resources": RESOURCES}}
    before = FILE.model_copy(update={"production": False})
    assert list(notes(Comparison("prod", text, text, before, FILE))) == [
        "**prod**: becomes production"
    ]


def test_a_budget_that_changes_and_one_that_cannot_be_held() -> None:
    unpriced = FILE.model_copy(update={"region": "eu-west-1", "max_monthly_usd": 500})
    text = {"prod-text": {"Resources": RESOURCES}}
    was = unpriced.model_copy(update={"max_monthly_usd": None})
    assert list(notes(Comparison("prod", text, text, was, unpriced))) == [
        "**prod**: max_monthly_usd none -> 500",
        "**prod**: what is not priced is not held against max_monthly_usd: ml.g5.xlarge in "
        "eu-west-1 has no price: the table has prices of us-east-1 alone",
    ]


def test_an_output_of_an_endpoint_s_stack_whose_resources_stay() -> None:
    comparison = compared(RESOURCES, RESOURCES)
    (stack,) = comparison.after
    comparison.after[stack] = {**comparison.after[stack], "Outputs": {"Arn": {"Value": "a"}}}
    assert list(notes(comparison)) == [f"**{stack}**: output Arn: none -> a"]
