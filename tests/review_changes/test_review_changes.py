"""Random template changes are in the review, or listed in silent.yaml with a reason."""

import pytest

from review.dangers.resources import known_resources, resource_paths
from tests.review_changes.changes import KINDS, RandomChange, random_change
from tests.review_changes.review_lines import review_lines
from tests.review_changes.silent import unlisted_changes
from tests.review_changes.stages import NAMES, synthesised

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


def test_review_knows_every_property_of_the_stages() -> None:
    unknown = {
        f"{resource['Type']} {path}"
        for name in NAMES
        for template in synthesised(name).templates.values()
        for resource in template["Resources"].values()
        for path in resource_paths(resource["Type"], resource)
        if path not in known_resources().get(resource["Type"], ())
    }
    assert unknown == set(), "write the list anew: python -m tests.review_changes.known"
