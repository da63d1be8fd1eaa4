"""The CloudFormation type of budgets: requests of its create, update and delete."""

from typing import Any

import boto3

from local_sagemaker.budgets import resource_types

PROPERTIES: dict[str, Any] = {
    "Budget": {
        "BudgetLimit": {"Amount": 1200, "Unit": "USD"},
        "BudgetName": "prod",
        "BudgetType": "COST",
        "TimeUnit": "MONTHLY",
    },
    "NotificationsWithSubscribers": [
        {
            "Notification": {
                "ComparisonOperator": "GREATER_THAN",
                "NotificationType": "ACTUAL",
                "Threshold": "100",
            },
            "Subscribers": [{"Address": "a@example.com", "SubscriptionType": "EMAIL"}],
        }
    ],
}


class Budgets:
    """A service that records valid requests."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self._client = boto3.client("budgets", "us-east-1")

    def input_shape(self, name: str) -> Any:
        return self._client.meta.service_model.operation_model(name).input_shape

    def call(self, name: str, request: dict[str, Any]) -> dict[str, Any]:
        self.requests.append((name, request))
        return {}


def test_budget_is_created_changed_and_deleted() -> None:
    service = Budgets()
    budget = resource_types(service)["AWS::Budgets::Budget"]
    name, attributes = budget.create("Budget", PROPERTIES, "stack")
    assert (name, attributes) == ("prod", {})
    (operation, request), *_ = service.requests
    assert operation == "CreateBudget"
    assert request["AccountId"] == "000000000000"
    assert request["Budget"]["BudgetLimit"] == {"Amount": "1200", "Unit": "USD"}
    (notified,) = request["NotificationsWithSubscribers"]
    assert notified["Notification"]["Threshold"] == 100.0
    changed = {**PROPERTIES, "Budget": {**PROPERTIES["Budget"], "TimeUnit": "ANNUALLY"}}
    assert budget.update(name, PROPERTIES, changed, "stack")[0] == name
    budget.delete(name, changed)
    operations = [operation for operation, _ in service.requests]
    assert operations == ["CreateBudget", "DeleteBudget", "CreateBudget", "DeleteBudget"]
    assert service.requests[2][1]["Budget"]["TimeUnit"] == "ANNUALLY"
