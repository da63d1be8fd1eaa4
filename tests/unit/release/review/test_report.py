"""What a review knows from the files of both trees, and not from their templates."""

import copy
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from release.checkouts import Clone
from release.review.assemblies import write as write_assemblies
from release.review.deployed import Deployed
from release.review.stage_review import StageReview, review_stage
from release.tree import Tree
from tests.unit.release.conftest import commit
from tests.unit.release.preflight.conftest import Aws
from tests.unit.release.review.conftest import write
from tests.unit.release.review.resources import RESOURCES

TEMPLATE = "assemblies/prod/prod-text.template.json"
Review = Callable[..., StageReview]
ENTRY = json.loads(RESOURCES["Entry"]["Properties"]["Value"])


@pytest.fixture
def review(tmp_path: Path) -> Review:
    def review(
        base: Tree | None, head: Tree, *, stage: str = "prod", missing: str | None = None
    ) -> StageReview:
        before = write_assemblies(base, tmp_path / "base") if base else None
        after = write_assemblies(head, tmp_path / "head")
        return review_stage(stage, before, after, missing=missing)

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
    assert [danger.rule for danger in new.dangers] == ["low_minimum"]
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
    assert (model.state, model.because) == ("rebuilt", because)


def test_what_is_deployed_is_the_base_of_a_live_review(clone: Clone, tmp_path: Path) -> None:
    """Stacks of other stages, deleted ones and those that no CDK app made are none of it."""
    aws = Aws()
    names = ("prod-text", "prod-eu-text", "prod-gone", "prod-by-hand", "dev-text")
    stacks = [
        {
            "StackName": name,
            "CreationTime": "2026-01-01",
            "StackStatus": "DELETE_COMPLETE" if name == "prod-gone" else "UPDATE_COMPLETE",
        }
        for name in names
    ]
    made = {"Resources": RESOURCES}
    by_hand = {"Resources": {"Log": {"Type": "AWS::Logs::LogGroup"}}}
    aws.answers = {
        "cloudformation.DescribeStacks": {"Stacks": stacks},
        "cloudformation.GetTemplate": lambda request: {
            "TemplateBody": json.dumps(by_hand if "hand" in request["StackName"] else made)
        },
    }
    deployed = Deployed.of(aws.session, "prod", ("prod", "prod-eu"))
    assert deployed.templates == {"prod-text": made}
    wider = copy.deepcopy(RESOURCES)
    (statement,) = wider["Policy"]["Properties"]["PolicyDocument"]["Statement"]
    statement["Action"] = "s3:*"
    write(clone, TEMPLATE, json.dumps({"Resources": wider}))
    after = write_assemblies(clone, tmp_path / "head")
    stage = review_stage("prod", deployed, after)
    assert [danger.rule for danger in stage.dangers] == ["widened_access"]
