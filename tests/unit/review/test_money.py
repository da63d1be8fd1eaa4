"""Costs of instances at the prices of conftest.py."""

from dataclasses import replace
from typing import Any

import pytest

from platform_facts import HOURS_PER_MONTH
from release.schedules import weekly_limits
from release.stack_endpoints import StackVariant
from review.endpoints import TemplateEndpoint
from review.money import Cost, endpoint_cost


def variant(instance_type: str = "ml.g5.xlarge", **scaling: Any) -> StackVariant:
    """Return a variant with 2 to 10 instances by default."""
    return StackVariant(
        name=instance_type,
        instance_types=(instance_type,),
        mode="MultiModel",
        initial=3,
        **weekly_limits({"MinCapacity": 2, "MaxCapacity": 10, **scaling})._asdict(),
        scaled=True,
    )


def endpoint(*variants: StackVariant) -> TemplateEndpoint:
    return TemplateEndpoint(
        name="prod-text",
        release="25.09",
        rollback_alarms=0,
        variants={variant.name: variant for variant in variants},
    )


def test_cost_range_of_several_instance_types() -> None:
    variant_with_two_types = replace(variant(), instance_types=("ml.g5.xlarge", "ml.g5.2xlarge"))
    cost = endpoint_cost(endpoint(variant_with_two_types), "us-east-1")
    assert cost.minimum == 1.4 * 2 * HOURS_PER_MONTH
    assert cost.maximum == endpoint_cost(endpoint(variant("ml.g5.2xlarge")), "us-east-1").maximum


def test_monthly_cost() -> None:
    assert endpoint_cost(endpoint(variant()), "us-east-1") == Cost(
        minimum=1.4 * 2 * HOURS_PER_MONTH, maximum=1.4 * 10 * HOURS_PER_MONTH
    )


def test_cost_of_shadow_variants() -> None:
    with_shadow = replace(endpoint(variant()), shadows={"Shadow": variant("ml.g5.2xlarge")})
    cost = endpoint_cost(with_shadow, "us-east-1")
    assert cost.minimum == pytest.approx((1.4 + 1.5) * 2 * HOURS_PER_MONTH)


@pytest.mark.parametrize(
    ("instance_type", "region", "reason"),
    [
        ("ml.g6.xlarge", "us-east-1", "the price table of 2026-01-01 does not contain it"),
        ("ml.g5.xlarge", "eu-west-1", "the price table only has us-east-1"),
    ],
)
def test_missing_price(instance_type: str, region: str, reason: str) -> None:
    cost = endpoint_cost(endpoint(variant("ml.g5.2xlarge"), variant(instance_type)), region)
    assert cost.minimum is cost.maximum is None
    assert f"{instance_type} in {region} has no price: {reason}" in cost.missing_prices
