"""What a reviewer is told without having to acknowledge it."""

from dataclasses import replace
from typing import Any

from release.review.comparison import Comparison
from release.review.model_changes import ModelChange
from release.review.notes import notes
from release.stage_file import StageFile
from release.tree import Template
from tests.unit.release.review.resources import RESOURCES

FILE = StageFile(region="us-east-1", production=True)
STACK = "prod-models"


def project(source: str) -> dict[str, Any]:
    properties = {"Source": {"Location": source, "Type": "S3"}}
    return {"Project": {"Type": "AWS::CodeBuild::Project", "Properties": properties}}


def said(
    before: dict[str, Template],
    after: dict[str, Template],
    *models: ModelChange,
    was: StageFile = FILE,
    will_be: StageFile = FILE,
) -> list[str]:
    return list(notes(Comparison("prod", before, after, was, will_be), list(models)))


def builders() -> list[dict[str, Template]]:
    """Return two sides with other code in the builder."""
    return [{STACK: {"Resources": project(it)}} for it in ("a", "b")]


def test_what_the_builder_s_change_leaves_as_it_is() -> None:
    before, after = builders()
    kept = ModelChange(endpoint="prod-text", model="minilm", state="unchanged")
    (line,) = said(before, after, kept, replace(kept, model="bert", state="rebuilt"))
    assert "and minilm stays as it is; if it would make other archives of them, raise" in line
    assert "BUILD_FORMAT" in line
    assert "1 AWS::CodeBuild::Project changed" in line


def test_a_builder_that_builds_everything_anew_asks_for_nothing() -> None:
    before, after = builders()
    (line,) = said(before, after, ModelChange(endpoint="prod-text", model="bert", state="rebuilt"))
    assert "every model is built by it" in line
    assert "BUILD_FORMAT" not in line


def test_a_stack_that_leaves_the_app_stays() -> None:
    (line,) = said({STACK: {"Resources": project("a")}}, {})
    assert line == "**prod-models**: no longer in the app; its stack stays until it is deleted"


def test_a_stack_of_much_is_counted() -> None:
    kinds = ("SNS::Topic", "SQS::Queue", "S3::Bucket", "KMS::Key", "Logs::LogGroup")
    many = {str(it): {"Type": f"AWS::{it}", "Properties": {}} for it in kinds}
    (line,) = said({}, {STACK: {"Resources": many}})
    assert line == "**prod-models**: new, 5 resources created"


def test_a_budget_that_changes_and_one_that_cannot_be_held() -> None:
    unpriced = replace(FILE, region="eu-west-1", max_monthly_usd=500)
    text = {"prod-text": {"Resources": RESOURCES}}
    lines = said(text, text, was=replace(unpriced, max_monthly_usd=None), will_be=unpriced)
    assert lines == [
        "**prod**: max_monthly_usd none -> 500",
        "**prod**: what is not priced is not held against max_monthly_usd: ml.g5.xlarge in "
        "eu-west-1",
    ]
