"""The budget of a production stage, and the reasons of a stage without one."""

from typing import Any

import pytest
from aws_cdk import App
from aws_cdk.assertions import Annotations, Match, Template

from platform_facts import HOURS_PER_MONTH
from stacks.budget import add_budget
from stages import StageConfig
from stages.plan import PlannedStage
from tests.synth.endpoints import model_stack

KIND = "AWS::Budgets::Budget"


def stage(**settings: Any) -> StageConfig:
    return StageConfig.model_validate(
        {
            "region": "us-east-1",
            "release": "25.09",
            "production": True,
            "notify": {"email": [f"{number}@example.com" for number in range(11)]},
            "endpoints": {
                "text": {
                    "models": ["resnet50"],
                    "instance_type": "ml.g5.xlarge",
                    "instance_count": 2,
                    "scaling": {"min_count": 2, "max_count": 4, "max_rps": 9},
                    "variants": {"A": {}, "B": {"instance_type": "ml.g5.2xlarge"}},
                }
            },
            **settings,
        }
    )


def with_budget(**settings: Any) -> Any:
    config = stage(**settings)
    stack = model_stack(App(), config)
    add_budget(stack, PlannedStage.of("trial", config))
    return stack


def test_limit_is_the_price_at_the_maximum_of_scaling() -> None:
    (budget,) = Template.from_stack(with_budget()).find_resources(KIND).values()
    properties = budget["Properties"]
    usd = round(HOURS_PER_MONTH * 4 * (1.4084 + 1.515))  # prices.toml
    assert properties["Budget"]["BudgetLimit"] == {"Amount": usd, "Unit": "USD"}
    assert properties["Budget"]["CostFilters"] == {"Service": ["Amazon SageMaker"]}
    notifications = properties["NotificationsWithSubscribers"]
    kinds = [each["Notification"]["NotificationType"] for each in notifications]
    assert kinds == ["ACTUAL", "FORECASTED"]
    for notification in notifications:
        assert len(notification["Subscribers"]) == 10  # of eleven: AWS's maximum


def test_limit_of_the_stage_has_priority() -> None:
    stack = with_budget(max_monthly_usd=500.0, region="eu-west-1")
    (budget,) = Template.from_stack(stack).find_resources(KIND).values()
    assert budget["Properties"]["Budget"]["BudgetLimit"]["Amount"] == 500


@pytest.mark.parametrize("settings", [{"cost_budget": False}, {"production": False, "notify": {}}])
def test_other_stages_have_no_budget_and_no_warning(settings: dict[str, Any]) -> None:
    stack = with_budget(**settings)
    Template.from_stack(stack).resource_count_is(KIND, 0)
    assert Annotations.from_stack(stack).find_warning("*", Match.any_value()) == []


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"region": "eu-north-1"}, "CloudFormation has no AWS::Budgets::Budget in eu-north-1"),
        ({"region": "eu-west-1"}, "an instance type has no known price: write max_monthly_usd"),
        ({"notify": {"topics": ["arn:aws:sns:us-east-1:111122223333:others"]}},
         "notify has no email"),
    ],
)  # fmt: skip
def test_missing_budget_is_a_warning(settings: dict[str, Any], reason: str) -> None:
    stack = with_budget(**settings)
    Template.from_stack(stack).resource_count_is(KIND, 0)
    (warning,) = Annotations.from_stack(stack).find_warning("*", Match.any_value())
    assert f"no budget: {reason}" in str(warning.entry.data)
