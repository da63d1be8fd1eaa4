"""Random template changes are in the review, or listed in silent.yaml with a reason."""

import pytest

from tests.review_changes.changes import KINDS, RandomChange, random_change
from tests.review_changes.review_lines import review_lines
from tests.review_changes.silent import unlisted_changes

SEEDS = range(150)
"""`python -m tests.review_changes` makes twenty times as many changes."""


@pytest.fixture(scope="module")
def changes() -> list[RandomChange]:
    return [random_change(seed) for seed in SEEDS]


def test_each_kind_of_change_has_many_resource_types(changes: list[RandomChange]) -> None:
    for kind in KINDS:
        assert len({change.type for change in changes if change.kind == kind}) >= 5, kind


def test_change_is_reported_or_listed(changes: list[RandomChange]) -> None:
    assert unlisted_changes(change for change in changes if not review_lines(change)) == []
