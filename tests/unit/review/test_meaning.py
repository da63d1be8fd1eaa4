"""Values that mean the same are no change; others keep their words."""

import copy
from typing import Any

import pytest

from review.comparison import Comparison
from review.dangers import dangers
from review.endpoint_changes import endpoint_changes
from review.meaning import in_the_same_words
from review.template_changes import notes
from tests.unit.plan.plans import make_endpoint
from tests.unit.review.edits import plan_of

EQUAL: dict[str, list[Any]] = {
    "Schedule": ["cron(0 8 ? * MON-FRI *)", "cron(0 8 ? * 2-6 *)", "cron(0 8 ? * mon-fri *)"],
    "ScheduleExpression": ["rate(1 hour)", "rate(60 minutes)"],
    "at": ["rate(1 day)", "rate(24 hours)"],
    "Expression": ["m1 / m2", "m1/m2"],
    "Timezone": ["UTC", "Etc/UTC"],
    "Duration": ["PT5M", "PT300S"],
    "AlarmActions": [["a", {"Ref": "b"}], [{"Ref": "b"}, "a"]],
}
DIFFERENT: dict[str, list[Any]] = {
    "Schedule": ["cron(0 8 ? * MON-FRI *)", "cron(0 8 ? * 1-5 *)"],
    "ScheduleExpression": ["rate(1 hour)", "rate(61 minutes)"],
    "Expression": ["m1 / m2", "m2 / m1", "m1 / 'm 2'", "m1 / 'm2'"],
    "Timezone": ["UTC", "Europe/London"],
    "Version": ["25.10", "25.1"],
    "Duration": ["PT5M", "P5M", "PT5S"],
    "Command": [["a", "b"], ["b", "a"]],
    "Subnets": [["subnet-a", "subnet-b"], ["subnet-b", "subnet-a"]],
}


@pytest.mark.parametrize("name", EQUAL)
def test_equal_meaning(name: str) -> None:
    first, *others = EQUAL[name]
    for other in others:
        assert in_the_same_words([{name: first}], [{name: other}]) == [{name: first}]


@pytest.mark.parametrize("name", DIFFERENT)
def test_other_meaning(name: str) -> None:
    first, *others = DIFFERENT[name]
    for other in others:
        assert in_the_same_words([{name: first}], [{name: other}]) == [{name: other}]


def stage(schedule: str, *actions: Any) -> tuple[Any, Any]:
    """Return the templates and the plan of a stage with a schedule, and an alarm with actions."""
    target = {"ScalableDimension": "sagemaker:variant:DesiredInstanceCount", "MinCapacity": 2}
    scheduled = [{"ScheduledActionName": "day", "Schedule": schedule}]
    resources = {
        "Alarm": {"Type": "AWS::CloudWatch::Alarm", "Properties": {
            "AlarmActions": [*actions], "Period": 60, "EvaluationPeriods": 1,
            "Dimensions": [{"Name": "A", "Value": action} for action in actions]}},
        "Target": {"Type": "AWS::ApplicationAutoScaling::ScalableTarget",
                   "Properties": {**target, "ScheduledActions": scheduled}},
    }  # fmt: skip
    settings = {"scaling": {"schedules": {"day": {"at": schedule}}}}
    plan = plan_of(endpoints={"text": make_endpoint(settings=settings)})
    return {"prod-text": {"Resources": resources}}, plan


def test_stage_in_other_words_changes_nothing() -> None:
    before, old_plan = stage("cron(0 8 ? * MON-FRI *)", "a", "b")
    after, new_plan = stage("cron(0 8 ? * 2-6 *)", "b", "a")
    comparison = Comparison("prod", before, copy.deepcopy(after), old_plan, new_plan)
    assert dangers(comparison) == []
    assert [change.state for change in endpoint_changes(comparison)] == ["unchanged"]
    (note,) = notes(comparison)
    assert [*note.clauses] == ["in other words, which change no resource"]


def test_stage_with_another_schedule_changes() -> None:
    before, old_plan = stage("cron(0 8 ? * MON-FRI *)", "a", "b")
    after, new_plan = stage("cron(0 8 ? * MON-THU *)", "a", "b")
    (change,) = endpoint_changes(Comparison("prod", before, after, old_plan, new_plan))
    assert "cron(0 8 ? * MON-FRI *) -> cron(0 8 ? * MON-THU *)" in "; ".join(change.clauses)
