"""Scaling decisions at each tick of the scaler."""

from typing import Any

import pytest

from local_sagemaker.autoscaling.alarms import HIGH, LOW
from local_sagemaker.autoscaling.service import AutoScaling
from local_sagemaker.dashboard_events import DashboardEvent
from local_sagemaker.errors import ApiError
from local_sagemaker.tests.autoscaling.conftest import (
    KEY,
    POLICY,
    TARGET,
    CloudWatch,
    Time,
    Variants,
)
from local_sagemaker.tests.autoscaling.test_service import ACTION

CALLS = "InvocationsPerInstance"


class ScaledTarget:
    """A scalable target whose alarms, variants and time tests control."""

    def __init__(
        self,
        scaling: AutoScaling,
        variants: Variants,
        cloudwatch: CloudWatch,
        time: Time,
        target: dict[str, Any] = TARGET,
    ) -> None:
        self.scaling, self.variants = scaling, variants
        self.cloudwatch, self.time = cloudwatch, time
        scaling.register_scalable_target(target)

    def alarm(self, kind: str | None, *points: float, metric: str = CALLS) -> None:
        """Set the alarm of a kind on a metric to ALARM, and its other alarms to OK."""
        for name, alarm in self.cloudwatch.alarms.items():
            if alarm["MetricName"] == metric:
                alarm["StateValue"] = "ALARM" if kind and f"-{kind}-" in name else "OK"
                alarm["StateReasonData"] = f'{{"recentDatapoints": {list(points)}}}'

    def tick(self, seconds: float = 10) -> list[int]:
        """Advance the time, run the scaler and return all requested capacities."""
        self.time.now += seconds
        self.scaling.scaler.tick()
        return self.variants.desired_counts

    def settle(self) -> None:
        """Complete the change of capacity and run the scaler."""
        self.variants.settle()
        self.tick()

    def activities(self, **request: Any) -> list[dict[str, Any]]:
        answer = self.scaling.describe_scaling_activities(request)
        result: list[dict[str, Any]] = answer["ScalingActivities"]
        return result


@pytest.fixture
def scaled_target(
    scaling: AutoScaling, variants: Variants, cloudwatch: CloudWatch, time: Time
) -> ScaledTarget:
    target = ScaledTarget(scaling, variants, cloudwatch, time)
    scaling.put_scaling_policy(POLICY)
    return target


def test_alarm_scales_out_and_records_an_activity(scaled_target: ScaledTarget) -> None:
    assert scaled_target.tick() == []
    scaled_target.alarm(HIGH, 30, 90, 120)
    assert scaled_target.tick() == [4]
    (activity,) = scaled_target.activities()
    alarm = scaled_target.cloudwatch.alarm_of_kind(HIGH)["AlarmName"]
    assert {name: activity[name] for name in KEY} == KEY
    assert activity["Description"] == "Setting desired instance count to 4."
    assert activity["Cause"] == f"monitor alarm {alarm} in state ALARM triggered policy calls"
    assert activity["StatusCode"] == "InProgress"
    assert activity["StatusMessage"] == (
        "Successfully set desired instance count to 4. Waiting for change to be fulfilled by "
        "sagemaker."
    )
    start_time = activity["StartTime"]
    scaled_target.settle()
    (activity,) = scaled_target.activities()
    assert (activity["StatusCode"], activity["StartTime"]) == ("Successful", start_time)
    assert activity["EndTime"] == start_time + 10
    assert activity["StatusMessage"] == (
        "Successfully set desired instance count to 4. Change successfully fulfilled by sagemaker."
    )


def test_only_larger_steps_during_the_scale_out_cooldown(
    scaled_target: ScaledTarget,
) -> None:
    scaled_target.alarm(HIGH, 120)
    scaled_target.tick()
    scaled_target.settle()
    assert scaled_target.tick(290) == [4]  # an equal step during the cooldown
    scaled_target.alarm(HIGH, 150)
    scaled_target.variants.settle()
    assert scaled_target.tick(0) == [4, 5]  # relative to the two instances before the cooldown
    scaled_target.settle()
    scaled_target.alarm(HIGH, 70)
    assert scaled_target.tick(290) == [4, 5]
    assert scaled_target.tick(10) == [4, 5, 6]


def test_scale_in_once_per_cooldown(scaled_target: ScaledTarget) -> None:
    scaled_target.variants.count = scaled_target.variants.desired = 6
    scaled_target.alarm(LOW, 45, 20)
    assert scaled_target.tick() == [5]
    scaled_target.settle()
    scaled_target.alarm(LOW, 40)
    assert scaled_target.tick(299) == [5]
    assert scaled_target.tick(1) == [5, 4]


def test_scale_out_ends_the_scale_in_cooldown(scaled_target: ScaledTarget) -> None:
    scaled_target.variants.count = scaled_target.variants.desired = 5
    scaled_target.alarm(LOW, 45)
    scaled_target.tick()
    scaled_target.settle()
    scaled_target.alarm(HIGH, 61)
    assert scaled_target.tick() == [4, 5]
    scaled_target.settle()
    scaled_target.alarm(LOW, 45)
    assert scaled_target.tick() == [4, 5, 4]


def test_speed_shortens_cooldowns(variants: Variants, cloudwatch: CloudWatch, time: Time) -> None:
    hosting: Any = variants
    scaling = AutoScaling(hosting, cloudwatch, speed=60, clock=time)
    scaled_target = ScaledTarget(scaling, variants, cloudwatch, time)
    scaled_target.scaling.put_scaling_policy(POLICY)
    variants.count = variants.desired = 6
    scaled_target.alarm(LOW, 45)
    scaled_target.tick()
    scaled_target.settle()
    assert scaled_target.tick(4.9) == [5]
    assert scaled_target.tick(0.1) == [5, 4]


def test_updating_endpoint_is_not_scaled(scaled_target: ScaledTarget) -> None:
    scaled_target.variants.status = "Updating"
    scaled_target.alarm(HIGH, 120)
    assert scaled_target.tick() == []
    (activity,) = scaled_target.activities(IncludeNotScaledActivities=True)
    assert activity["NotScaledReasons"] == [{"Code": "TargetServicePutResourceAsUnscalable"}]
    scaled_target.variants.settle()
    assert scaled_target.tick() == [4]


@pytest.mark.parametrize(
    ("kind", "points", "suspended"),
    [
        (HIGH, 120, "DynamicScalingOutSuspended"),
        (LOW, 1, "DynamicScalingInSuspended"),
    ],
)
def test_suspended_target_is_not_scaled(
    scaled_target: ScaledTarget, kind: str, points: float, suspended: str
) -> None:
    scaled_target.variants.count = scaled_target.variants.desired = 4
    scaled_target.scaling.register_scalable_target({**TARGET, "SuspendedState": {suspended: True}})
    scaled_target.alarm(kind, points)
    assert scaled_target.tick() == []
    scaled_target.scaling.register_scalable_target({**TARGET, "SuspendedState": {suspended: False}})
    assert len(scaled_target.tick()) == 1


def test_suspended_schedule_sets_no_limits(scaled_target: ScaledTarget) -> None:
    suspended = {"SuspendedState": {"ScheduledScalingSuspended": True}}
    scaled_target.scaling.register_scalable_target({**TARGET, **suspended})
    scaled_target.scaling.put_scheduled_action({**ACTION, "Schedule": "rate(1 minute)"})
    assert scaled_target.tick(90) == []
    scaled_target.scaling.register_scalable_target(
        {**TARGET, "SuspendedState": {"ScheduledScalingSuspended": False}}
    )
    assert scaled_target.tick(90) == [4]


def test_not_scaled_activity_is_recorded_once(
    scaled_target: ScaledTarget, dashboard_events: list[DashboardEvent]
) -> None:
    """Source: the example in the user guide, "Include not scaled activities"."""
    scaled_target.scaling.register_scalable_target({**TARGET, "MaxCapacity": 2})
    scaled_target.alarm(HIGH, 120)
    scaled_target.tick()
    scaled_target.tick()
    assert scaled_target.activities() == []
    assert dashboard_events == []
    (activity,) = scaled_target.activities(IncludeNotScaledActivities=True)
    del activity["ActivityId"], activity["StartTime"]
    alarm = scaled_target.cloudwatch.alarm_of_kind(HIGH)["AlarmName"]
    assert activity == {
        **KEY,
        "Description": "Attempting to scale due to alarm triggered",
        "Cause": f"monitor alarm {alarm} in state ALARM triggered policy calls",
        "StatusCode": "Failed",
        "NotScaledReasons": [{"Code": "AlreadyAtMaxCapacity", "MaxCapacity": 2}],
    }


def test_refused_change_is_recorded_once(scaled_target: ScaledTarget) -> None:
    scaled_target.variants.error = ApiError("ResourceLimitExceeded", "The limit is 2 Instances.")
    scaled_target.alarm(HIGH, 120)
    scaled_target.tick()
    scaled_target.tick()
    (activity,) = scaled_target.activities()
    assert activity["StatusCode"] == "Failed"
    assert activity["StatusMessage"].startswith(
        "Failed to set desired instance count to 4. Reason: The limit is 2 Instances. (Service: "
        "AmazonSageMaker; Status Code: 400; Error Code: ResourceLimitExceeded;"
    )


def test_rolled_back_change_is_retried(scaled_target: ScaledTarget) -> None:
    scaled_target.alarm(HIGH, 120)
    scaled_target.tick()
    scaled_target.variants.roll_back()
    assert scaled_target.tick() == [4, 4]
    assert [activity["StatusCode"] for activity in scaled_target.activities()] == [
        "InProgress",
        "Unfulfilled",
    ]


@pytest.mark.parametrize(
    ("limits", "capacity", "cause"),
    [
        ({"MinCapacity": 4}, 4, "minimum capacity was set to 4"),
        ({"MinCapacity": 1, "MaxCapacity": 1}, 1, "maximum capacity was set to 1"),
    ],
)
def test_new_limits_scale_the_target_at_once(
    scaled_target: ScaledTarget, limits: dict[str, int], capacity: int, cause: str
) -> None:
    scaled_target.scaling.register_scalable_target({**KEY, **limits})
    assert scaled_target.variants.desired_counts == [capacity]
    assert scaled_target.activities()[0]["Cause"] == cause


def test_scheduled_action_sets_the_limits(scaled_target: ScaledTarget) -> None:
    scaled_target.scaling.put_scheduled_action({**ACTION, "Schedule": "cron(* * * * ? *)"})
    assert scaled_target.tick(59) == []
    assert scaled_target.tick(1) == [4]
    (target,) = scaled_target.scaling.describe_scalable_targets({})["ScalableTargets"]
    assert (target["MinCapacity"], target["MaxCapacity"]) == (4, 6)
    activities = {activity["Cause"]: activity for activity in scaled_target.activities()}
    assert set(activities) == {
        "scheduled action name morning was triggered",
        "minimum capacity was set to 4",
    }
    limits = activities["scheduled action name morning was triggered"]
    assert limits["Description"] == "Setting min capacity to 4 and max capacity to 6"
    assert limits["StatusMessage"] == "Successfully set min capacity to 4 and max capacity to 6"


@pytest.mark.parametrize(
    ("limits", "status", "message"),
    [
        ({"MinCapacity": 7}, "InService", "Minimum capacity cannot be greater than maximum"),
        ({"MaxCapacity": 1}, "InService", "Minimum capacity cannot be greater than maximum"),
        ({"MinCapacity": 4}, "Updating",
         "Resource Id [endpoint/text/variant/only] is not scalable. Reason: the endpoint is "
         "Updating"),
    ],
)  # fmt: skip
def test_failed_scheduled_action_keeps_the_limits(
    scaled_target: ScaledTarget, limits: dict[str, int], status: str, message: str
) -> None:
    scaled_target.variants.status = status
    action = {**ACTION, "Schedule": "cron(* * * * ? *)", "ScalableTargetAction": limits}
    scaled_target.scaling.put_scheduled_action(action)
    assert scaled_target.tick(60) == []
    (target,) = scaled_target.scaling.describe_scalable_targets({})["ScalableTargets"]
    assert (target["MinCapacity"], target["MaxCapacity"]) == (2, 6)
    (activity,) = scaled_target.activities()
    assert activity["StatusCode"] == "Failed"
    assert message in activity["StatusMessage"]


def test_deleted_endpoint_fails_its_activity(scaled_target: ScaledTarget) -> None:
    scaled_target.alarm(HIGH, 120)
    scaled_target.tick()
    scaled_target.variants.deleted = True
    scaled_target.tick()
    (activity,) = scaled_target.activities()
    assert activity["StatusMessage"] == (
        "Failed to reach desired instance count 4: the endpoint is deleted"
    )
