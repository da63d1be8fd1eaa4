"""What a reviewer is not told of a template's change is known, and has its reason."""

import pytest

from tests.review_changes.changes import KINDS, Change, change
from tests.review_changes.review_lines import review_lines
from tests.review_changes.silent import without_reason

SEEDS = range(300)
"""`python -m tests.review_changes` tries ten times as many, and holds the list against them."""


@pytest.fixture(scope="module")
def changes() -> list[Change]:
    return [change(seed) for seed in SEEDS]


def test_each_kind_of_change_is_tried_on_many_types(changes: list[Change]) -> None:
    for kind in KINDS:
        assert len({change.type for change in changes if change.kind == kind}) >= 5, kind


def test_what_the_review_does_not_say_has_a_reason(changes: list[Change]) -> None:
    assert without_reason(change for change in changes if not review_lines(change)) == []
