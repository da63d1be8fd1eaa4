"""Test of the time budget of a delivery."""

import json
from pathlib import Path

from delivery.time_budget import DeliveryTimeBudget
from release.plan import PLAN


def test_time_budget_is_read_from_the_plan(tmp_path: Path) -> None:
    budget = {"rows": {"builds": 150, "tests": 20}, "build_minutes": 145}
    (tmp_path / PLAN).write_text(json.dumps({"stage": "prod", "time_budget": budget}))
    read = DeliveryTimeBudget.read(tmp_path)
    assert read.build_minutes == 145
    assert read.lines() == [
        "  150 min  builds",
        "   20 min  tests",
        "  170 min  maximum in total",
    ]
