"""What a review knows from the files of both trees, and not from their templates."""

import copy
import json
from datetime import date

import pytest

from release.checkouts import Clone
from release.review.commit import Commit, checked_out
from release.review.report import NOTHING, StageReview, review_stage
from release.tree import Tree
from tests.unit.release.conftest import commit
from tests.unit.release.review.conftest import write
from tests.unit.release.review.resources import RESOURCES

TEMPLATE = "assemblies/prod/prod-text.template.json"
ENTRY = json.loads(RESOURCES["Entry"]["Properties"]["Value"])


def review(base: Commit | None, head: Tree) -> StageReview:
    return review_stage(
        "prod", base, head, today=date(2026, 11, 21), missing=None, lint=lambda *_: NOTHING
    )


def write_version(tree: Tree, version: str) -> None:
    resources = copy.deepcopy(RESOURCES)
    resources["Entry"]["Properties"]["Value"] = json.dumps({**ENTRY, "version": version})
    write(tree, TEMPLATE, json.dumps({"Resources": resources}))


def test_without_a_base_nothing_is_a_danger(clone: Clone) -> None:
    alone = copy.deepcopy(RESOURCES)
    alone["Config"]["Properties"]["ProductionVariants"][0]["InitialInstanceCount"] = 1
    write(clone, TEMPLATE, json.dumps({"Resources": alone}))
    assert review(None, clone).dangers == ()


def test_a_stage_that_moves_costs_what_each_region_asks(clone: Clone) -> None:
    write(clone, "stages/prod.yaml", "region: eu-west-1\n")
    with checked_out(clone, "main") as base:
        (cost,) = review(base, clone).costs
    assert cost.before
    assert cost.before.minimum
    assert cost.after
    assert cost.after.minimum is None


@pytest.mark.parametrize(
    ("changed", "because"),
    [
        ("minilm/1/model.py", ("models/minilm/1/model.py",)),
        ("minilm/tests/test_model.py", ("the builder makes different archives",)),
    ],
)
def test_a_model_is_rebuilt_because_of_its_files(
    clone: Clone, changed: str, because: tuple[str, ...]
) -> None:
    for file in ("minilm/1/model.py", "minilm/tests/test_model.py"):
        write(clone, f"models/{file}", "before")
    commit(clone)
    write(clone, f"models/{changed}", "after")
    write_version(clone, "2")
    with checked_out(clone, "main") as base:
        (model,) = review(base, clone).models
    assert (model.state, model.because) == ("rebuilt", because)
