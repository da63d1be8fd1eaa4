"""Test of the time budget of a delivery."""

from delivery.time_budget import budget_lines
from plan.document import TimeBudget


def test_budget_has_a_line_for_each_step_and_the_sum() -> None:
    budget = TimeBudget(rows={"builds": 150, "tests": 20}, build_minutes=145)
    assert budget_lines(budget) == [
        "  150 min  builds",
        "   20 min  tests",
        "  170 min  maximum in total",
    ]
