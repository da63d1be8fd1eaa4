"""The maximum duration of each step of a delivery, from the plan of the stage."""

from plan.document import TimeBudget


def budget_lines(budget: TimeBudget) -> list[str]:
    """Return a line for each step, and a line for the sum."""
    rows = {**budget.rows, "maximum in total": sum(budget.rows.values())}
    return [f"{minutes:5} min  {step}" for step, minutes in rows.items()]
