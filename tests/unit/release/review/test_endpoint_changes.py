"""Which endpoints a change touches, by their templates."""

import copy
from typing import Any

import pytest

from release.review.comparison import Comparison
from release.review.endpoint_changes import EndpointChange, endpoint_changes
from release.stage_file import StageFile
from tests.unit.release.review.resources import RESOURCES

Stack = dict[str, Any]


def stack(name: str = "prod-text", instance_type: str = "ml.g5.xlarge") -> Stack:
    resources = copy.deepcopy(RESOURCES)
    resources["Endpoint"]["Properties"]["EndpointName"] = name
    (variant,) = resources["Config"]["Properties"]["ProductionVariants"]
    variant["InstanceType"] = instance_type
    return {"Resources": resources}


def changes(
    before: Stack | None, after: Stack | None, *, compared: bool = True, to: str = "us-east-1"
) -> list[EndpointChange]:
    old, new = ({"prod-text": it} if it else {} for it in (before, after))
    was, will_be = (StageFile(region=it, production=True) for it in ("us-east-1", to))
    return endpoint_changes(Comparison("prod", old, new, was, will_be), compared=compared)


@pytest.mark.parametrize(
    ("before", "after", "name", "state"),
    [
        (None, stack(), "prod-text", "new"),
        (stack(), None, "prod-text", "removed"),
        (stack(), stack("prod-find"), "prod-find", "renamed"),
        (stack(), stack(instance_type="ml.g5.2xlarge"), "prod-text", "changed"),
        (stack(), stack(), "prod-text", "unchanged"),
    ],
)
def test_the_state_of_an_endpoint(
    before: Stack | None, after: Stack | None, name: str, state: str
) -> None:
    (found,) = changes(before, after)
    assert (found.name, found.state) == (name, state)


def test_an_endpoint_of_a_stage_that_moves_is_new() -> None:
    (found,) = changes(stack(), stack(), to="eu-west-1")
    assert (found.state, found.pair.before) == ("new", None)


def test_what_is_not_compared_has_no_state() -> None:
    (found,) = changes(None, stack(), compared=False)
    assert found.state == "not compared"
