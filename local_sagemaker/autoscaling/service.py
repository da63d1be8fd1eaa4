"""Application Auto Scaling of endpoints' variants: what is registered, and who scales by it."""

import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

from botocore.utils import parse_to_aware_datetime

from local_sagemaker.api import JsonService
from local_sagemaker.autoscaling.activities import Activities
from local_sagemaker.autoscaling.alarms import alarm_requests, alarm_states, described
from local_sagemaker.autoscaling.describing import describe
from local_sagemaker.autoscaling.refusals import (
    refuse_action,
    refuse_limits,
    refuse_metric_of_another,
    refuse_policy,
)
from local_sagemaker.autoscaling.scaler import EVERY_SECONDS, Scaler, Variants
from local_sagemaker.autoscaling.schedules import parse
from local_sagemaker.autoscaling.store import Store, Target
from local_sagemaker.autoscaling.targets import Record, TargetKey, arn, autoscaling_arn
from local_sagemaker.clock import Ticker
from local_sagemaker.environment import ACCOUNT
from local_sagemaker.errors import ApiError
from local_sagemaker.happenings import Tell, untold

SUSPENDED = dict.fromkeys(
    ("DynamicScalingInSuspended", "DynamicScalingOutSuspended", "ScheduledScalingSuspended"), False
)

ROLE = (
    f"arn:aws:iam::{ACCOUNT}:role/aws-service-role/sagemaker.application-autoscaling.amazonaws.com/"
    "AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint"
)
"""Of a target that names none: the service-linked role (Application Auto Scaling user guide,
application-auto-scaling-service-linked-roles)."""


class AutoScaling:
    """Scalable targets, their policies and scheduled actions. `cloudwatch` is boto3's client.

    Nothing is scaled before `start`, but for targets outside their limits. At a `speed`, periods,
    cooldowns and rates pass so much faster.
    """

    def __init__(
        self,
        variants: Variants,
        cloudwatch: Any,
        *,
        speed: float,
        clock: Callable[[], float] = time.time,
        tell: Tell = untold,
    ) -> None:
        self._variants, self._cloudwatch = variants, cloudwatch
        self._speed, self._clock = speed, clock
        self._store, self._activities = Store(), Activities(clock, tell)
        self.scaler = Scaler(
            self._store,
            variants,
            lambda: alarm_states(cloudwatch),
            self._activities,
            speed=speed,
            clock=clock,
        )
        self._ticker = Ticker(self.scaler.tick, seconds=EVERY_SECONDS, speed=speed)
        self.service = JsonService(
            "application-autoscaling",
            {
                "RegisterScalableTarget": self.register,
                "DeregisterScalableTarget": self.deregister,
                "DescribeScalableTargets": self.describe_targets,
                "PutScalingPolicy": self.put_policy,
                "DeleteScalingPolicy": self.delete_policy,
                "DescribeScalingPolicies": self.describe_policies,
                "PutScheduledAction": self.put_action,
                "DeleteScheduledAction": self.delete_action,
                "DescribeScheduledActions": self.describe_actions,
                "DescribeScalingActivities": self.describe_activities,
            },
        )

    def start(self) -> None:
        """Scale from now on."""
        self._ticker.start()

    def stop(self) -> None:
        """Scale no more."""
        self._ticker.stop()

    # Targets

    def register(self, request: Record) -> Record:
        """RegisterScalableTarget; a target outside its limits is scaled at once."""
        key = TargetKey.of(request)
        endpoint = self._variants.describe_endpoint({"EndpointName": key.endpoint})
        if key.variant not in {it["VariantName"] for it in endpoint.get("ProductionVariants", [])}:
            raise ApiError("ValidationException", f"SageMaker variant not found: {key.resource}")
        with self._store.locked() as targets:
            known = targets.get(key)
            old: Record = known.record if known else {"RoleARN": ROLE, "SuspendedState": SUSPENDED}
            record = {
                "CreationTime": self._clock(),
                "ScalableTargetARN": arn("scalable-target", uuid.uuid4().hex[:8]),
                **old,
                **{name: it for name, it in request.items() if name != "Tags"},
            }
            refuse_limits(record)
            if known:
                known.record = record
            target = known or targets.setdefault(key, Target(key, record))
        self.scaler.into_limits(target)
        return {"ScalableTargetARN": record["ScalableTargetARN"]}

    def targets(self) -> list[Target]:
        """Return what is registered, as it is now."""
        with self._store.locked() as targets:
            return [
                replace(
                    it,
                    record=dict(it.record),
                    policies={name: dict(policy) for name, policy in it.policies.items()},
                    actions={name: dict(action) for name, action in it.actions.items()},
                )
                for it in targets.values()
            ]

    def variants(self, endpoint: str) -> set[str]:
        """Return the variants of an endpoint that are registered."""
        return {it.variant for it in self._store.all_keys() if it.endpoint == endpoint}

    def deregister(self, request: Record) -> Record:
        """DeregisterScalableTarget, which deletes the target's policies and scheduled actions."""
        target = self._store.find(request)
        self._remove(target)
        return {}

    def forget(self, endpoint: str) -> None:
        """Deregister every variant of an endpoint that is deleted."""
        with self._store.locked() as targets:
            found = [it for key, it in targets.items() if key.endpoint == endpoint]
        for target in found:
            self._remove(target)

    def _remove(self, target: Target) -> None:
        with self._store.locked() as targets:
            targets.pop(target.key, None)
            policies = list(target.policies.values())
        for policy in policies:
            self._delete_alarms(policy["Alarms"])

    # Policies

    def put_policy(self, request: Record) -> Record:
        """PutScalingPolicy, which makes the policy's alarms.

        Of two policies with one metric the second is refused: "provided that each of them uses a
        different metric" (user guide, "Target tracking scaling policies").
        """
        refuse_policy(request)
        with self._store.locked():
            target, name = self._store.find(request), request["PolicyName"]
            old = target.policies.get(name)
            policy = dict(old or self._new_policy(target.key, name))
            policy.update(request)
            requests = alarm_requests(target.key, policy)
            refuse_metric_of_another(target, name, request)
            policy["Alarms"] = described(requests)
            target.policies[name] = policy
        for alarm in requests:
            self._cloudwatch.put_metric_alarm(**alarm)
        kept = [it["AlarmName"] for it in requests]
        self._delete_alarms(it for it in (old or policy)["Alarms"] if it["AlarmName"] not in kept)
        return {"PolicyARN": policy["PolicyARN"], "Alarms": policy["Alarms"]}

    def delete_policy(self, request: Record) -> Record:
        """DeleteScalingPolicy, which deletes the policy's alarms."""
        with self._store.locked() as targets:
            target = targets.get(TargetKey.of(request))
            policy = target.policies.pop(request["PolicyName"], None) if target else None
        if policy is None:
            raise ApiError("ObjectNotFoundException", "No scaling policy found.")
        self._delete_alarms(policy["Alarms"])
        return {}

    def _new_policy(self, key: TargetKey, name: str) -> Record:
        policy = autoscaling_arn("scalingPolicy", str(uuid.uuid4()), key, f"policyName/{name}")
        return {"CreationTime": self._clock(), "PolicyARN": policy, "Alarms": []}

    def _delete_alarms(self, alarms: Iterable[Record]) -> None:
        if names := [it["AlarmName"] for it in alarms]:
            self._cloudwatch.delete_alarms(AlarmNames=names)

    # Scheduled actions

    def put_action(self, request: Record) -> Record:
        """PutScheduledAction. Of one that is known, "if you don't specify start and end times, the
        old values are deleted" (API reference)."""
        with self._store.locked():
            target, name = self._store.find(request), request["ScheduledActionName"]
            old = target.actions.get(name) or self._new_action(target.key, name)
            kept = {it: value for it, value in old.items() if it not in ("StartTime", "EndTime")}
            action = {**kept, **request}
            for moment in ("StartTime", "EndTime"):
                if moment in action:
                    action[moment] = _seconds(action[moment])
            refuse_action(action)
            try:
                schedule = parse(
                    action["Schedule"],
                    zone=action.get("Timezone", "UTC"),
                    since=action.get("StartTime", self._clock()),
                    speed=self._speed,
                )
            except ValueError as error:
                raise ApiError("ValidationException", f"Invalid schedule: {error}") from None
            target.actions[name], target.schedules[name] = action, schedule
        return {}

    def delete_action(self, request: Record) -> Record:
        """DeleteScheduledAction."""
        with self._store.locked() as targets:
            target = targets.get(TargetKey.of(request))
            if target is None or request["ScheduledActionName"] not in target.actions:
                raise ApiError("ObjectNotFoundException", "No scheduled action found.")
            del target.actions[request["ScheduledActionName"]]
            del target.schedules[request["ScheduledActionName"]]
        return {}

    def _new_action(self, key: TargetKey, name: str) -> Record:
        rest = f"scheduledActionName/{name}"
        action = autoscaling_arn("scheduledAction", str(uuid.uuid4()), key, rest)
        return {"CreationTime": self._clock(), "ScheduledActionARN": action}

    # What there is

    def describe_targets(self, request: Record) -> Record:
        """DescribeScalableTargets."""
        return describe("ScalableTargets", [it.record for it in self.targets()], request, size=50)

    def describe_policies(self, request: Record) -> Record:
        """DescribeScalingPolicies."""
        records = [policy for target in self.targets() for policy in target.policies.values()]
        return describe("ScalingPolicies", records, request, size=10)

    def describe_actions(self, request: Record) -> Record:
        """DescribeScheduledActions."""
        records = [action for target in self.targets() for action in target.actions.values()]
        return describe("ScheduledActions", records, request, size=50)

    def describe_activities(self, request: Record) -> Record:
        """DescribeScalingActivities, the latest first."""
        not_scaled = request.get("IncludeNotScaledActivities", False)
        records = self._activities.of(not_scaled=not_scaled)
        return describe("ScalingActivities", records, request, size=50, descending=True)


def _seconds(moment: Any) -> float:
    if isinstance(moment, datetime):
        return moment.timestamp()
    return float(parse_to_aware_datetime(moment).timestamp())
