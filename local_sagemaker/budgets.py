"""The CloudFormation resource type of budgets."""

from typing import Any

from local_sagemaker.cloudformation import Created, ResourceType, Service
from local_sagemaker.environment import ACCOUNT

Properties = dict[str, Any]


class BudgetResource(ResourceType):
    """AWS::Budgets::Budget: created again if it changes, since UpdateBudget has no subscribers."""

    def create(self, logical_id: str, properties: Properties, stack: str) -> Created:
        """Create the budget; without a name, one is generated."""
        budget = dict(properties["Budget"])
        name = budget.setdefault("BudgetName", f"{stack}-{logical_id}")
        if limit := budget.get("BudgetLimit"):  # a number in templates, text in the API
            budget["BudgetLimit"] = {**limit, "Amount": str(limit["Amount"])}
        self.call("CreateBudget", {**properties, "AccountId": ACCOUNT, "Budget": budget})
        return name, {}

    def update(self, physical_id: str, old: Properties, new: Properties, stack: str) -> Created:
        """Replace the budget, which keeps its name."""
        self.delete(physical_id, old)
        budget = {**new["Budget"], "BudgetName": physical_id}
        return self.create("", {**new, "Budget": budget}, stack)

    def delete(self, physical_id: str, properties: Properties) -> None:
        """Delete the budget."""
        self.call("DeleteBudget", {"AccountId": ACCOUNT, "BudgetName": physical_id})


def resource_types(budgets: Service) -> dict[str, ResourceType]:
    """Return the resource type by CloudFormation's type name."""
    return {"AWS::Budgets::Budget": BudgetResource(budgets)}
