"""What a review knows from the files of both trees, and not from their templates."""

import copy
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from release.checkouts import Clone
from release.review.assemblies import write as write_assemblies
from release.review.comparison import nothing_found
from release.review.deployed import Deployed
from release.review.report import StageReview, review_stage
from release.tree import Tree
from tests.unit.release.conftest import commit
from tests.unit.release.preflight.conftest import CALLER, Aws, denied
from tests.unit.release.review.conftest import write
from tests.unit.release.review.resources import RESOURCES

TEMPLATE = "assemblies/prod/prod-text.template.json"
Review = Callable[..., StageReview]
ENTRY = json.loads(RESOURCES["Entry"]["Properties"]["Value"])


@pytest.fixture
def review(tmp_path: Path) -> Review:
    def review(
        base: Tree | Deployed | None, head: Tree, *, stage: str = "prod", missing: str | None = None
    ) -> StageReview:
        if isinstance(base, Tree):
            base = write_assemblies(base, tmp_path / "base")
        after = write_assemblies(head, tmp_path / "head")
        return review_stage(
            stage,
            base,
            after,
            missing=missing,
            lint=nothing_found,
            acknowledgement=lambda _: None,
        )

    return review


def write_version(tree: Tree, version: str) -> None:
    resources = copy.deepcopy(RESOURCES)
    resources["Entry"]["Properties"]["Value"] = json.dumps({**ENTRY, "version": version})
    write(tree, TEMPLATE, json.dumps({"Resources": resources}))


def test_what_could_not_be_compared_has_no_dangers(clone: Clone, review: Review) -> None:
    alone = copy.deepcopy(RESOURCES)
    alone["Config"]["Properties"]["ProductionVariants"][0]["InitialInstanceCount"] = 1
    write(clone, TEMPLATE, json.dumps({"Resources": alone}))
    assert review(None, clone, missing="no such commit").dangers == ()


def test_a_new_stage_is_judged_like_any_other(clone: Clone, review: Review) -> None:
    alone = copy.deepcopy(RESOURCES)
    alone["Config"]["Properties"]["ProductionVariants"][0]["InitialInstanceCount"] = 1
    write(clone, "stages/new.yaml", "region: us-east-1\nproduction: true\n")
    write(clone, TEMPLATE.replace("prod", "new"), json.dumps({"Resources": alone}))
    with clone.checked_out("main") as base:
        new = review(base, clone, stage="new")
    assert [danger.rule for danger, _ in new.dangers] == ["low_minimum"]
    assert new.costs[0].before is None


def test_a_stage_that_moves_costs_what_each_region_asks(clone: Clone, review: Review) -> None:
    write(clone, "stages/prod.yaml", "region: eu-west-1\n")
    with clone.checked_out("main") as base:
        left, new = review(base, clone).costs
    assert left.runs_on
    assert left.before == left.after
    assert left.after
    assert left.after.minimum
    assert new.before is None
    assert new.after
    assert new.after.minimum is None


@pytest.mark.parametrize(
    ("changed", "because"),
    [
        ("minilm/1/model.py", ("models/minilm/1/model.py",)),
        ("minilm/tests/test_model.py", ("the builder makes different archives",)),
    ],
)
def test_a_model_is_rebuilt_because_of_its_files(
    clone: Clone, review: Review, changed: str, because: tuple[str, ...]
) -> None:
    for file in ("minilm/1/model.py", "minilm/tests/test_model.py"):
        write(clone, f"models/{file}", "before")
    commit(clone)
    write(clone, f"models/{changed}", "after")
    write_version(clone, "2")
    with clone.checked_out("main") as base:
        (model,) = review(base, clone).models
    assert (model.state, tuple(map(str, model.because))) == ("rebuilt", because)


def test_what_aws_says_of_access_stands_among_the_notes_of_what_is_deployed(
    clone: Clone, review: Review
) -> None:
    aws = Aws()
    stack = {
        "StackName": "prod-text",
        "CreationTime": "2026-01-01",
        "StackStatus": "UPDATE_COMPLETE",
    }
    wider = copy.deepcopy(RESOURCES)
    (statement,) = wider["Policy"]["Properties"]["PolicyDocument"]["Statement"]
    statement["Action"] = "s3:*"
    write(clone, TEMPLATE, json.dumps({"Resources": wider}))
    aws.answers = {
        "cloudformation.DescribeStacks": {"Stacks": [stack]},
        "cloudformation.GetTemplate": {"TemplateBody": json.dumps({"Resources": RESOURCES})},
        "cloudformation.CreateChangeSet": denied("cloudformation:CreateChangeSet"),
        "sts.GetCallerIdentity": {"Account": CALLER.account, "Arn": CALLER.arn},
        "accessanalyzer.CheckNoNewAccess": {"result": "FAIL", "message": "There is new access."},
    }
    found = review(Deployed(aws.session, "prod"), clone)
    assert "IAM Access Analyzer, prod-text: Policy: There is new access." in found.notes
    assert "widened_access" in [danger.rule for danger, _ in found.dangers]
