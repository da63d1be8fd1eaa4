"""The budget of a production stage."""

from aws_cdk import Annotations, Stack
from aws_cdk import aws_budgets as budgets

from stages.plan import PlannedStage

SERVICE = "Amazon SageMaker"
"""The service as Cost Explorer and the filters of budgets name it, in public templates."""
MAX_EMAILS = 10
"""E-mail subscribers of a notification (template reference, AWS::Budgets::Budget)."""


def add_budget(scope: Stack, stage: PlannedStage) -> None:
    """Add a budget that notifies the stage's addresses, or a warning that names what is missing.

    It counts SageMaker in the whole account: a filter by a tag, such as one of the stage, has no
    data until the tag is activated as a cost allocation tag, which only the management account can
    do (Billing user guide, activating-tags).
    """
    config = stage.config
    if not config.production or not config.cost_budget:
        return
    usd = config.max_monthly_usd or stage.price_at_max_scale
    reasons = {
        f"CloudFormation has no AWS::Budgets::Budget in {config.region}": not stage.region.budgets,
        "notify has no email": not config.notify.email,
        "an instance type has no known price: write max_monthly_usd": usd is None,
    }
    if missing := [reason for reason, applies in reasons.items() if applies]:
        message = f"no budget: {'; '.join(missing)}, or cost_budget: false"
        Annotations.of(scope).add_warning_v2("budget", message)
        return
    subscribers = [
        budgets.CfnBudget.SubscriberProperty(address=address, subscription_type="EMAIL")
        for address in config.notify.email[:MAX_EMAILS]
    ]
    budgets.CfnBudget(
        scope,
        "Budget",
        budget=budgets.CfnBudget.BudgetDataProperty(
            budget_limit=budgets.CfnBudget.SpendProperty(amount=round(usd or 0), unit="USD"),
            budget_name=f"{stage.plan.stage}-sagemaker-{config.region}",
            budget_type="COST",
            cost_filters={"Service": [SERVICE]},
            time_unit="MONTHLY",
        ),
        notifications_with_subscribers=[
            budgets.CfnBudget.NotificationWithSubscribersProperty(
                notification=budgets.CfnBudget.NotificationProperty(
                    comparison_operator="GREATER_THAN", notification_type=kind, threshold=100
                ),
                subscribers=subscribers,
            )
            for kind in ("ACTUAL", "FORECASTED")
        ],
    )
