"""Sentences about changed endpoints and stacks, without dangers."""

import copy
from typing import Any

import pytest

from release.checkout import StageFile
from release.templates import Template
from review.comparison import Comparison
from review.endpoint_changes import endpoint_changes
from review.model_changes import ModelChange
from review.stack_changes import MAX_CLAUSES, notes
from tests.unit.review.edits import compare
from tests.unit.review.resources import RESOURCES
from triton_sagemaker import PublishedMetrics

FILE = StageFile(region="us-east-1", production=True)
STACK = "prod-models"
METRICS = PublishedMetrics(log_group="/metrics", namespace="Triton/text").environment()
NOT_REPLACED = "its instances are not replaced"


def summary(after: dict[str, Any], before: dict[str, Any] = RESOURCES) -> list[str]:
    """Return the clauses of the sentence about the endpoint, without its models."""
    (endpoint,) = endpoint_changes(compare(before, after))
    text = endpoint.sentence.removeprefix("**prod-text**: ")
    return [clause for clause in text.split("; ") if not clause.startswith("models:")]


def note(before: dict[str, Any], after: dict[str, Any], **templates: Any) -> str:
    """Return the sentence about a stack without an endpoint."""
    sides: list[dict[str, Template]] = [
        {STACK: {"Resources": side, **{key: value[number] for key, value in templates.items()}}}
        for number, side in enumerate((before, after))
    ]
    (line,) = notes(Comparison("prod", sides[0], sides[1], FILE, FILE))
    return line


def with_properties(name: str, **properties: Any) -> dict[str, Any]:
    resources = copy.deepcopy(RESOURCES)
    resources[name]["Properties"].update(properties)
    return resources


def resource(kind: str, **properties: Any) -> dict[str, Any]:
    return {"Example": {"Type": kind, "Properties": properties}}


def test_property_without_a_row_shows_both_values() -> None:
    before, after = (resource("AWS::SQS::Queue", DelaySeconds=seconds) for seconds in (30, 60))
    assert note(before, after) == "**prod-models**: Example: DelaySeconds: 30 -> 60"


def test_same_change_of_several_resources_is_one_clause() -> None:
    before, after = (
        {name: resource("AWS::SQS::Queue", DelaySeconds=seconds)["Example"] for name in "ab"}
        for seconds in (30, 60)
    )
    assert note(before, after) == "**prod-models**: DelaySeconds: 30 -> 60 (2 AWS::SQS::Queue)"


def test_long_value_is_shortened_to_the_changed_part() -> None:
    before, after = (
        resource("AWS::SQS::Queue", QueueName="a" * 200 + text + "b" * 200)
        for text in ("OLD", "NEW")
    )
    line = note(before, after)
    assert "OLD" in line
    assert "NEW" in line
    assert len(line) < 250


def test_sentence_names_only_changed_models() -> None:
    models = [
        ModelChange(endpoint="prod-text", model="minilm", state="unchanged"),
        ModelChange(endpoint="prod-text", model="bert", state="rebuilt", causes=("a", "b", "c")),
    ]
    (endpoint,) = endpoint_changes(
        compare(RESOURCES, with_properties("Log", RetentionInDays=60)), models
    )
    assert endpoint.sentence.endswith("; models: bert rebuilt (3 files)")


def test_changed_variant() -> None:
    config = copy.deepcopy(RESOURCES["Config"]["Properties"]["ProductionVariants"])
    config[0] |= {"InstanceType": "ml.g5.2xlarge", "VolumeSizeInGB": 100}
    clauses = summary(with_properties("Config", ProductionVariants=config))
    assert "instance type of AllTraffic: ml.g5.xlarge -> ml.g5.2xlarge" in clauses
    assert "ProductionVariants.VolumeSizeInGB of AllTraffic: none -> 100" in clauses


@pytest.mark.parametrize("name", ["Log", "Quota"])
def test_deleted_resource_of_an_endpoint_stack(name: str) -> None:
    after = {key: value for key, value in RESOURCES.items() if key != name}
    assert summary(after) == [NOT_REPLACED, f"1 {RESOURCES[name]['Type']} deleted"]


def test_catalog_entry_with_another_archive() -> None:
    value = RESOURCES["Entry"]["Properties"]["Value"]
    other_archive = value.replace('"version": "1"', '"version": "1", "target_model": "b.tar.gz"')
    assert summary(with_properties("Entry", Value=other_archive)) == [
        NOT_REPLACED,
        "Entry: Value.target_model: none -> b.tar.gz",
    ]
    assert summary(with_properties("Entry", Value=other_archive.replace('"1", ', '"2", '))) == [
        NOT_REPLACED
    ]


def test_clauses_are_limited() -> None:
    properties = {f"P{number}": number for number in range(MAX_CLAUSES + 2)}
    line = note(resource("AWS::SQS::Queue"), resource("AWS::SQS::Queue", **properties))
    assert line.count(": none -> ") == MAX_CLAUSES
    assert line.endswith("; 2 more in the difference")


def test_changed_outputs() -> None:
    exported = {"ExportsOutputRefA": {"Value": "a"}}
    line = note({}, {}, Outputs=({"Name": {"Value": "a"}}, {"Name": {"Value": "b"}, **exported}))
    assert line == "**prod-models**: exports changed; output Name: a -> b"


@pytest.mark.parametrize(
    ("before", "after", "state"),
    [({}, METRICS, "published"), (METRICS, {}, "no longer published")],
)
def test_metrics_variables_are_one_clause(
    before: dict[str, str], after: dict[str, str], state: str
) -> None:
    container = RESOURCES["Model"]["Properties"]["PrimaryContainer"]
    sides = (
        with_properties("Model", PrimaryContainer={**container, "Environment": variables})
        for variables in (after, before)
    )
    clauses = summary(*sides)
    assert f"Triton's own metrics {state}" in clauses
    assert not [value for value in clauses if "METRIC" in value]


def builder_projects() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return resources before and after a change of the model builder's code."""
    before, after = (
        resource("AWS::CodeBuild::Project", Source={"Location": location, "Type": "S3"})
        for location in "ab"
    )
    return before, after


def test_changed_builder_code() -> None:
    assert note(*builder_projects()).startswith(
        "**prod-models**: Example: the code that builds models changes: "
    )


def test_stack_removed_from_the_app_is_not_deleted() -> None:
    comparison = Comparison("prod", {STACK: {"Resources": builder_projects()[0]}}, {}, FILE, FILE)
    assert list(notes(comparison)) == [
        "**prod-models**: no longer in the app; its stack stays until it is deleted"
    ]


def test_stage_becomes_production() -> None:
    text = {"prod-text": {"Resources": RESOURCES}}
    before = FILE.model_copy(update={"production": False})
    assert list(notes(Comparison("prod", text, text, before, FILE))) == [
        "**prod**: becomes production"
    ]


def test_changed_budget_with_unknown_prices() -> None:
    unpriced = FILE.model_copy(update={"region": "eu-west-1", "max_monthly_usd": 500})
    text = {"prod-text": {"Resources": RESOURCES}}
    unlimited = unpriced.model_copy(update={"max_monthly_usd": None})
    assert list(notes(Comparison("prod", text, text, unlimited, unpriced))) == [
        "**prod**: max_monthly_usd none -> 500",
        "**prod**: max_monthly_usd is checked without costs that are unknown: ml.g5.xlarge in "
        "eu-west-1 has no price: the price table only has us-east-1",
    ]
