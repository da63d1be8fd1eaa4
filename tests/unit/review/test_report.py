"""Reviews of stages whose result depends on files of both trees."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from release.assemblies import SynthesisedTree
from release.build import build_release
from release.checkout import Checkout, GitCheckout
from review.stage_review import StageReview, review_stage
from tests.unit.conftest import commit
from tests.unit.plan.plans import make_endpoint, make_model
from tests.unit.review.conftest import write_file, write_plan
from tests.unit.review.edits import plan_of, variant
from tests.unit.review.resources import RESOURCES
from tests.unit.test_repository import ROOT

Review = Callable[..., StageReview]


@pytest.fixture
def review(tmp_path: Path) -> Review:
    def review(base: Checkout, head: Checkout, *, stage: str = "prod") -> StageReview:
        before, after = (
            SynthesisedTree(tree.root, build_release(tree, tmp_path / side).folder)
            for side, tree in (("base", base), ("head", head))
        )
        return review_stage(stage, before, after)

    return review


def write_version(tree: Checkout, digest: str) -> None:
    models = {"minilm": make_model("minilm", digest=digest * 64)}
    write_plan(tree, plan_of(endpoint={"models": models}, account=None))


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


@pytest.mark.parametrize(
    ("changed_file", "causes"),
    [
        ("minilm/1/model.py", ("models/minilm/1/model.py",)),
        ("minilm/tests/test_model.py", ("the build format changed",)),
    ],
)
def test_causes_of_a_rebuilt_model(
    clone: GitCheckout, review: Review, changed_file: str, causes: tuple[str, ...]
) -> None:
    for file in ("minilm/1/model.py", "minilm/tests/test_model.py"):
        write_file(clone, f"models/{file}", "before")
    write_version(clone, "1")
    commit(clone)
    write_file(clone, f"models/{changed_file}", "after")
    write_version(clone, "2")
    with clone.checked_out("main") as base:
        (model,) = review(base, clone).models
    assert (model.state, model.causes) == ("rebuilt", causes)


def test_causes_of_a_row_are_its_own_files(clone: GitCheckout, review: Review) -> None:
    def write_rows(digest: str) -> None:
        names = ("demand-lyon", "demand-porto")
        models = {name: make_model(name, digest=digest * 64) for name in names}
        write_plan(clone, plan_of(endpoint={"models": models}, account=None))

    demand = clone.root / "models" / "demand"
    shutil.copytree(ROOT / "models" / "demand", demand)
    write_rows("1")
    commit(clone)
    (demand / "weights" / "lyon.json").write_text("{}")
    table = demand / "shops.csv"
    table.write_text(table.read_text().replace("/porto.json", "/berlin.json"))
    write_rows("2")
    with clone.checked_out("main") as base:
        models = review(base, clone).models
    assert {model.model: model.causes for model in models} == {
        "demand-lyon": ("models/demand/weights/lyon.json",),
        "demand-porto": ("models/demand/shops.csv",),
    }
