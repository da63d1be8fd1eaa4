"""Scaling, a tick at a time."""

from typing import Any

import pytest

from local_sagemaker.autoscaling.alarms import HIGH, LOW
from local_sagemaker.autoscaling.service import AutoScaling
from local_sagemaker.errors import ApiError
from local_sagemaker.tests.autoscaling.conftest import (
    KEY,
    POLICY,
    TARGET,
    CloudWatch,
    Time,
    Variants,
    custom,
    policy,
)
from local_sagemaker.tests.autoscaling.test_service import ACTION

CALLS = "InvocationsPerInstance"


class Scaled:
    """A target with a policy on its calls; `tick` is 10 seconds unless it says otherwise."""

    def __init__(
        self, scaling: AutoScaling, variants: Variants, cloudwatch: CloudWatch, time: Time
    ) -> None:
        self.scaling, self.variants = scaling, variants
        self.cloudwatch, self.time = cloudwatch, time
        scaling.register(TARGET)

    def alarm(self, kind: str | None, *points: float, metric: str = CALLS) -> None:
        """Have one alarm on a metric in ALARM, or none."""
        for name, alarm in self.cloudwatch.alarms.items():
            if alarm["MetricName"] == metric:
                alarm["StateValue"] = "ALARM" if kind and f"-{kind}-" in name else "OK"
                alarm["StateReasonData"] = f'{{"recentDatapoints": {list(points)}}}'

    def tick(self, seconds: float = 10) -> list[int]:
        """Let time pass, and return all that was asked for so far."""
        self.time.now += seconds
        self.scaling.scaler.tick()
        return self.variants.desired_counts

    def settle(self) -> None:
        """Have what was asked for, and let it be seen."""
        self.variants.settle()
        self.tick()

    def activities(self) -> list[dict[str, Any]]:
        result: list[dict[str, Any]] = self.scaling.describe_activities({})["ScalingActivities"]
        return result


@pytest.fixture
def scaled(scaling: AutoScaling, variants: Variants, cloudwatch: CloudWatch, time: Time) -> Scaled:
    made = Scaled(scaling, variants, cloudwatch, time)
    scaling.put_policy(POLICY)
    return made


def test_an_alarm_scales_out_in_proportion_and_the_activity_tells_it(scaled: Scaled) -> None:
    assert scaled.tick() == []
    scaled.alarm(HIGH, 30, 90, 120)
    assert scaled.tick() == [4]
    (activity,) = scaled.activities()
    alarm = scaled.cloudwatch.kind(HIGH)["AlarmName"]
    assert {name: activity[name] for name in KEY} == KEY
    assert activity["Description"] == "Setting desired instance count to 4."
    assert activity["Cause"] == f"monitor alarm {alarm} in state ALARM triggered policy calls"
    assert activity["StatusCode"] == "InProgress"
    assert activity["StatusMessage"] == (
        "Successfully set desired instance count to 4. Waiting for change to be fulfilled by "
        "sagemaker."
    )
    begun = activity["StartTime"]
    scaled.settle()
    (activity,) = scaled.activities()
    assert (activity["StatusCode"], activity["StartTime"]) == ("Successful", begun)
    assert activity["EndTime"] == begun + 10
    assert activity["StatusMessage"] == (
        "Successfully set desired instance count to 4. Change successfully fulfilled by sagemaker."
    )


def test_after_a_scale_out_only_a_larger_step_is_made_until_the_cooldown_ends(
    scaled: Scaled,
) -> None:
    scaled.alarm(HIGH, 120)
    scaled.tick()
    scaled.settle()
    assert scaled.tick(290) == [4]  # the same again is what was done
    scaled.alarm(HIGH, 150)
    scaled.variants.settle()
    assert scaled.tick(0) == [4, 5]  # of the two instances that there were
    scaled.settle()
    scaled.alarm(HIGH, 70)
    assert scaled.tick(290) == [4, 5]
    assert scaled.tick(10) == [4, 5, 6]


def test_it_scales_in_once_a_cooldown(scaled: Scaled) -> None:
    scaled.variants.count = scaled.variants.desired = 6
    scaled.alarm(LOW, 45, 20)
    assert scaled.tick() == [5]
    scaled.settle()
    scaled.alarm(LOW, 40)
    assert scaled.tick(299) == [5]
    assert scaled.tick(1) == [5, 4]


def test_a_scale_out_ends_the_cooldown_of_a_scale_in(scaled: Scaled) -> None:
    scaled.variants.count = scaled.variants.desired = 5
    scaled.alarm(LOW, 45)
    scaled.tick()
    scaled.settle()
    scaled.alarm(HIGH, 61)
    assert scaled.tick() == [4, 5]
    scaled.settle()
    scaled.alarm(LOW, 45)
    assert scaled.tick() == [4, 5, 4]


def test_cooldowns_pass_as_fast_as_all_of_awss_time(
    variants: Variants, cloudwatch: CloudWatch, time: Time
) -> None:
    hosting: Any = variants
    scaling = AutoScaling(hosting, cloudwatch, speed=60, clock=time)
    scaled = Scaled(scaling, variants, cloudwatch, time)
    scaled.scaling.put_policy(POLICY)
    variants.count = variants.desired = 6
    scaled.alarm(LOW, 45)
    scaled.tick()
    scaled.settle()
    assert scaled.tick(4.9) == [5]
    assert scaled.tick(0.1) == [5, 4]


def test_of_several_policies_the_largest_wins_and_all_must_agree_to_scale_in(
    scaled: Scaled,
) -> None:
    scaled.scaling.put_policy(policy("gpu", custom("GPU")))
    scaled.alarm(HIGH, 61)
    scaled.alarm(HIGH, 150, metric="GPU")
    assert scaled.tick() == [5]
    assert "triggered policy gpu" in scaled.activities()[0]["Cause"]
    scaled.settle()
    scaled.alarm(LOW, 1)
    scaled.alarm(None, metric="GPU")
    assert scaled.tick(1000) == [5]
    scaled.alarm(LOW, 35, metric="GPU")
    assert scaled.tick() == [5, 3]


def test_an_endpoint_that_is_updated_is_not_scaled(scaled: Scaled) -> None:
    scaled.variants.status = "Updating"
    scaled.alarm(HIGH, 120)
    assert scaled.tick() == []
    scaled.variants.settle()
    assert scaled.tick() == [4]


def test_what_sagemaker_refuses_is_told_once(scaled: Scaled) -> None:
    scaled.variants.refusal = ApiError("ResourceLimitExceeded", "The limit is 2 Instances.")
    scaled.alarm(HIGH, 120)
    scaled.tick()
    scaled.tick()
    (activity,) = scaled.activities()
    assert activity["StatusCode"] == "Failed"
    assert activity["StatusMessage"].startswith(
        "Failed to set desired instance count to 4. Reason: The limit is 2 Instances. (Service: "
        "AmazonSageMaker; Status Code: 400; Error Code: ResourceLimitExceeded;"
    )


def test_a_change_that_is_rolled_back_is_unfulfilled_and_tried_again(scaled: Scaled) -> None:
    scaled.alarm(HIGH, 120)
    scaled.tick()
    scaled.variants.roll_back()
    assert scaled.tick() == [4, 4]
    assert [activity["StatusCode"] for activity in scaled.activities()] == [
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
def test_a_target_outside_its_new_limits_is_scaled_at_once(
    scaled: Scaled, limits: dict[str, int], capacity: int, cause: str
) -> None:
    scaled.scaling.register({**KEY, **limits})
    assert scaled.variants.desired_counts == [capacity]
    assert scaled.activities()[0]["Cause"] == cause


def test_a_scheduled_action_sets_the_limits_and_scales(scaled: Scaled) -> None:
    scaled.scaling.put_action({**ACTION, "Schedule": "cron(* * * * ? *)"})
    assert scaled.tick(59) == []
    assert scaled.tick(1) == [4]
    (target,) = scaled.scaling.describe_targets({})["ScalableTargets"]
    assert (target["MinCapacity"], target["MaxCapacity"]) == (4, 6)
    messages = {activity["Cause"]: activity for activity in scaled.activities()}
    assert set(messages) == {
        "scheduled action name morning was triggered",
        "minimum capacity was set to 4",
    }
    limits = messages["scheduled action name morning was triggered"]
    assert limits["Description"] == "Setting min capacity to 4 and max capacity to 6"
    assert limits["StatusMessage"] == "Successfully set min capacity to 4 and max capacity to 6"


@pytest.mark.parametrize(
    ("limits", "status", "refusal"),
    [
        ({"MinCapacity": 7}, "InService", "Minimum capacity cannot be greater than maximum"),
        ({"MaxCapacity": 1}, "InService", "Minimum capacity cannot be greater than maximum"),
        (
            {"MinCapacity": 4},
            "Updating",
            "Resource Id [endpoint/text/variant/only] is not scalable. Reason: the endpoint is "
            "Updating",
        ),
    ],
)
def test_a_scheduled_action_that_cannot_be_done_fails_and_the_limits_stay(
    scaled: Scaled, limits: dict[str, int], status: str, refusal: str
) -> None:
    scaled.variants.status = status
    action = {**ACTION, "Schedule": "cron(* * * * ? *)", "ScalableTargetAction": limits}
    scaled.scaling.put_action(action)
    assert scaled.tick(60) == []
    (target,) = scaled.scaling.describe_targets({})["ScalableTargets"]
    assert (target["MinCapacity"], target["MaxCapacity"]) == (2, 6)
    (activity,) = scaled.activities()
    assert activity["StatusCode"] == "Failed"
    assert refusal in activity["StatusMessage"]


def test_an_endpoint_that_is_gone_stops_nothing_else(scaled: Scaled) -> None:
    scaled.alarm(HIGH, 120)
    scaled.tick()
    scaled.variants.gone = True
    scaled.tick()
    (activity,) = scaled.activities()
    assert activity["StatusMessage"] == (
        "Failed to reach desired instance count 4: the endpoint is gone"
    )
