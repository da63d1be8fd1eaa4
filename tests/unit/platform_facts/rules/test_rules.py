"""The rules' metadata, and examples of violations."""

import pytest

from platform_facts import instance_type
from platform_facts.rules import RULES, Violation, scaling, updates
from platform_facts.rules.__main__ import page
from platform_facts.rules.updates import MAX_UPDATE_SECONDS, UpdateTimes


def test_every_rule_has_path_statement_and_source() -> None:
    page()  # imports every module of rules
    assert len(RULES) > 50
    assert not [
        rule for rule in RULES if not (rule.path and rule.statement.endswith(".") and rule.source)
    ]


def test_violation_has_path_and_fix() -> None:
    (problem,) = scaling.check_utilization("gpu_percent", [instance_type("ml.m5.xlarge")])
    assert str(problem) == "scaling.gpu_percent: ml.m5.xlarge has no GPU: remove it"
    assert scaling.check_utilization("gpu_percent", [instance_type("ml.g5.xlarge")]) == []


def test_rule_can_be_applied_to_another_path() -> None:
    limits = scaling.check_count_limits.at("scaling", "schedules", "night", "max_count")
    assert limits(3, 2) == [
        Violation(
            ("scaling", "schedules", "night", "max_count"),
            "2 is less than the minimum, 3: write 3 or more",
        )
    ]


def test_update_must_end_before_the_sagemaker_limit() -> None:
    valid = UpdateTimes(strategy="linear", start=2400, percent=10, wait=2899)
    assert updates.check_update(valid) == []
    too_long = UpdateTimes(strategy="linear", start=2400, percent=10, wait=2900)
    assert too_long.max_seconds() == MAX_UPDATE_SECONDS
    (problem,) = updates.check_update(too_long)
    assert problem.path == ("update", "wait_seconds")


@pytest.mark.parametrize(
    ("max_instances", "batches"),
    [(1, 1), (3, 3), (8, 7), (None, 7)],  # 25 % of 7 is rounded down to one instance
)
def test_rolling_update_duration_uses_the_maximum_number_of_batches(
    max_instances: int | None, batches: int
) -> None:
    times = UpdateTimes(strategy="rolling", start=100, percent=25, wait=10)
    assert times.max_seconds(max_instances) == batches * 110
