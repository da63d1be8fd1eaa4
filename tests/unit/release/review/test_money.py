"""What instances cost, by the prices of `conftest`."""

from dataclasses import replace
from typing import Any

import pytest

from release.review.endpoints import DeclaredEndpoint
from release.review.money import HOURS, Cost, cost_of
from release.schedules import weekly_limits
from release.stack_endpoints import StackVariant


def variant(instance_type: str = "ml.g5.xlarge", **scaling: Any) -> StackVariant:
    """A variant of 2 to 10 instances, unless a scalable target says otherwise."""
    return StackVariant(
        name=instance_type,
        instance_types=(instance_type,),
        mode="MultiModel",
        initial=3,
        **weekly_limits({"MinCapacity": 2, "MaxCapacity": 10, **scaling})._asdict(),
        scaled=True,
    )


def endpoint(*variants: StackVariant) -> DeclaredEndpoint:
    return DeclaredEndpoint(
        name="prod-text",
        release="25.09",
        rollback_alarms=0,
        variants={variant.name: variant for variant in variants},
    )


def test_of_several_instance_types_the_cheapest_and_the_dearest_bound_the_cost() -> None:
    mixed = replace(variant(), instance_types=("ml.g5.xlarge", "ml.g5.2xlarge"))
    cost = cost_of(endpoint(mixed), "us-east-1")
    assert cost.minimum == 1.4 * 2 * HOURS
    assert cost.maximum == cost_of(endpoint(variant("ml.g5.2xlarge")), "us-east-1").maximum


def test_a_month_of_instances() -> None:
    assert cost_of(endpoint(variant()), "us-east-1") == Cost(
        minimum=1.4 * 2 * HOURS, maximum=1.4 * 10 * HOURS
    )


def test_variants_are_added_up() -> None:
    cost = cost_of(endpoint(variant(), variant("ml.g5.2xlarge")), "us-east-1")
    assert cost.minimum == pytest.approx((1.4 + 1.5) * 2 * HOURS)


def test_shadow_variants_cost_too() -> None:
    both = replace(endpoint(variant()), shadows={"Shadow": variant("ml.g5.2xlarge")})
    cost = cost_of(both, "us-east-1")
    assert cost.minimum == pytest.approx((1.4 + 1.5) * 2 * HOURS)


def test_schedules_cost_what_they_have_over_a_week() -> None:
    def action(name: str, hour: int, least: int) -> dict[str, Any]:
        return {
            "ScheduledActionName": name,
            "Schedule": f"cron(0 {hour} ? * * *)",
            "ScalableTargetAction": {"MinCapacity": least, "MaxCapacity": 10},
        }

    day = [action("morning", 6, 6), action("evening", 18, 2)]
    cost = cost_of(endpoint(variant(ScheduledActions=day)), "us-east-1")
    assert cost.minimum == pytest.approx(1.4 * 4 * HOURS)
    for_ever = cost_of(endpoint(variant(ScheduledActions=day[:1])), "us-east-1")
    assert for_ever.minimum == pytest.approx(1.4 * 6 * HOURS)


@pytest.mark.parametrize(
    ("instance_type", "region", "why"),
    [
        ("ml.g6.xlarge", "us-east-1", "it is not in the table of 2026-01-01"),
        ("ml.g5.xlarge", "eu-west-1", "the table has prices of us-east-1 alone"),
    ],
)
def test_a_price_that_is_missing_is_never_guessed(
    instance_type: str, region: str, why: str
) -> None:
    cost = cost_of(endpoint(variant("ml.g5.2xlarge"), variant(instance_type)), region)
    assert cost.minimum is cost.maximum is None
    assert f"{instance_type} in {region} has no price: {why}" in cost.unknown
