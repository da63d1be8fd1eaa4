"""Costs of instances at the prices of conftest.py."""

import pytest

from plan.document import PlannedEndpoint, PlannedPool
from platform_facts import HOURS_PER_MONTH
from review.money import Cost, endpoint_cost
from tests.unit.plan.plans import make_endpoint
from tests.unit.review.edits import variant


def endpoint(*instance_types: str) -> PlannedEndpoint:
    """Return an endpoint with a variant of 2 to 10 instances for each type."""
    return make_endpoint(variants={name: variant(name) for name in instance_types})


def test_cost_range_of_several_instance_types() -> None:
    pools = tuple(
        PlannedPool(instance_type=name, prefix="a/", target="a")
        for name in ("ml.g5.xlarge", "ml.g5.2xlarge")
    )
    cost = endpoint_cost(make_endpoint(variants={"a": variant(pools=pools)}), "us-east-1")
    assert cost == Cost(minimum=1.4 * 2 * HOURS_PER_MONTH, maximum=1.5 * 10 * HOURS_PER_MONTH)


@pytest.mark.parametrize(
    ("instance_type", "region"), [("ml.g6.xlarge", "us-east-1"), ("ml.g5.xlarge", "eu-west-1")]
)
def test_missing_price(instance_type: str, region: str) -> None:
    cost = endpoint_cost(endpoint("ml.g5.2xlarge", instance_type), region)
    assert cost.minimum is cost.maximum is None
    assert f"{instance_type} in {region}" in cost.missing_prices
