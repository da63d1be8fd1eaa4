"""The state of each endpoint after a change."""

import copy
from typing import Any

import pytest

from release.checkout import StageFile
from review.comparison import Comparison
from review.endpoint_changes import EndpointChange, endpoint_changes
from tests.unit.review.resources import RESOURCES

Stack = dict[str, Any]


def stack(name: str = "prod-text", instance_type: str = "ml.g5.xlarge") -> Stack:
    resources = copy.deepcopy(RESOURCES)
    resources["Endpoint"]["Properties"]["EndpointName"] = name
    (variant,) = resources["Config"]["Properties"]["ProductionVariants"]
    variant["InstanceType"] = instance_type
    return {"Resources": resources}


def endpoint_change(
    before: Stack | None, after: Stack | None, new_region: str = "us-east-1"
) -> EndpointChange:
    old, new = ({"prod-text": side} if side else {} for side in (before, after))
    files = [StageFile(region=region, production=True) for region in ("us-east-1", new_region)]
    (endpoint,) = endpoint_changes(Comparison("prod", old, new, files[0], files[1]))
    return endpoint


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
def test_endpoint_state(before: Stack | None, after: Stack | None, name: str, state: str) -> None:
    endpoint = endpoint_change(before, after)
    assert (endpoint.name, endpoint.state) == (name, state)


def test_endpoint_of_a_moved_stage_is_new() -> None:
    endpoint = endpoint_change(stack(), stack(), new_region="eu-west-1")
    assert endpoint.state == "new"
    assert "ml.g5.xlarge, 2 instances" in endpoint.sentence
