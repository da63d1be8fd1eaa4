"""Reviews of stages whose result depends on files of both trees."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from release.assemblies import SynthesisedCheckout
from release.build import build_release
from release.checkout import Checkout, GitCheckout
from review.change_review import review_change
from review.stage_review import StageReview, review_stage
from tests.unit.plan.plans import make_endpoint
from tests.unit.review.conftest import write_file, write_plan
from tests.unit.review.edits import plan_of, variant
from tests.unit.review.resources import RESOURCES
from tests.unit.review.test_judge import remove_rollback

Review = Callable[..., StageReview]


@pytest.fixture
def review(tmp_path: Path) -> Review:
    def review(base: Checkout, head: Checkout, *, stage: str = "prod") -> StageReview:
        before, after = (
            SynthesisedCheckout(tree.root, build_release(tree, tmp_path / side).folder)
            for side, tree in (("base", base), ("head", head))
        )
        return review_stage(stage, before, after)

    return review


def test_new_stage_is_reviewed(clone: GitCheckout, review: Review) -> None:
    endpoints = {"text": make_endpoint("prod-text", variants={"AllTraffic": variant(low=1)})}
    write_plan(clone, plan_of(endpoints=endpoints, stage="new", production=True, account=None))
    write_file(clone, "stages/new.yaml", "region: us-east-1\nproduction: true\n")
    write_file(
        clone, "assemblies/new/prod-text.template.json", json.dumps({"Resources": RESOURCES})
    )
    with clone.checked_out("main") as base:
        stage_review = review(base, clone, stage="new")
    assert [danger.rule for danger in stage_review.dangers] == ["low_availability"]
    assert stage_review.costs[0].before is None


def test_stage_that_a_check_rejects_is_compared_too(clone: GitCheckout, tmp_path: Path) -> None:
    with clone.checked_out("main") as base:
        before = SynthesisedCheckout(base.root, build_release(base, tmp_path / "base").folder)
        remove_rollback(clone)
        after = SynthesisedCheckout(clone.root, build_release(clone, tmp_path / "head").folder)
        (after.assemblies / "prod.error").write_text("E3019: one identifier\nE3019: again")
        (after.assemblies / "prod" / "plan.json").unlink()
        report = review_change(before, after, name="main", stages=["prod"])
    (gap,) = report.gaps
    assert (gap.part, gap.summary) == (
        "prod",
        "E3019: one identifier (and 1 more lines in review.json)",
    )
    assert [danger.rule for danger in report.open_dangers] == ["lost_rollback"]
