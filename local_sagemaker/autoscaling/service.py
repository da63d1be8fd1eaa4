"""Application Auto Scaling's API for variants and inference components."""

import copy
import time
import uuid
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from local_sagemaker.api import JsonService
from local_sagemaker.autoscaling.activities import Activities
from local_sagemaker.autoscaling.alarms import alarm_requests, alarm_states, alarms_member
from local_sagemaker.autoscaling.scaled_capacity import check_scalable, read_capacity
from local_sagemaker.autoscaling.scaler import Scaler
from local_sagemaker.autoscaling.schedules import Schedule, parse
from local_sagemaker.autoscaling.targets import (
    KEY_MEMBERS,
    STEP_CONFIGURATION,
    STEP_SCALING,
    TRACKING_CONFIGURATION,
    Record,
    RegisteredTarget,
    Store,
    TargetKey,
    autoscaling_arn,
    target_arn,
)
from local_sagemaker.dashboard_events import OnEvent, ignore_event
from local_sagemaker.environment import ACCOUNT
from local_sagemaker.errors import ApiError, invalid
from local_sagemaker.paging import page

if TYPE_CHECKING:
    from local_sagemaker.sagemaker.component_operations import HostingOperations

SUSPENDED = dict.fromkeys(
    ("DynamicScalingInSuspended", "DynamicScalingOutSuspended", "ScheduledScalingSuspended"), False
)

ROLE = (
    f"arn:aws:iam::{ACCOUNT}:role/aws-service-role/sagemaker.application-autoscaling.amazonaws.com/"
    "AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint"
)
"""Default role of a target: the service-linked role (Application Auto Scaling user guide,
application-auto-scaling-service-linked-roles)."""

_FILTERED_MEMBERS = {
    "PolicyNames": "PolicyName",
    "ResourceIds": "ResourceId",
    "ScheduledActionNames": "ScheduledActionName",
}
"""Member of a request with allowed values -> member of a record; an empty list allows all."""


_ORDER = {
    "ScalableTargets": ("CreationTime", "ScalableTargetARN"),
    "ScalingPolicies": ("CreationTime", "PolicyARN"),
    "ScheduledActions": ("CreationTime", "ScheduledActionARN"),
    "ScalingActivities": ("StartTime", "ActivityId"),
}
_PAGE_SIZES = {"ScalingPolicies": 10}
_PAGE_SIZE = 50
"""Default, and maximum, of MaxResults; source: the API references of the Describe operations."""


class AutoScaling:
    """Scalable targets, their policies and scheduled actions; `cloudwatch` is a boto3 client.

    A capacity changes at a tick of `scaler`, and when its target is registered with other limits.
    Intervals, cooldowns and rates are divided by `speed`.
    """

    def __init__(
        self,
        hosting: "HostingOperations",
        cloudwatch: Any,
        *,
        speed: float,
        clock: Callable[[], float] = time.time,
        report: OnEvent = ignore_event,
    ) -> None:
        self._hosting, self._cloudwatch = hosting, cloudwatch
        self._speed, self._clock = speed, clock
        self._store, self._activities = Store(), Activities(clock, report)
        self.scaler = Scaler(
            self._store,
            hosting,
            lambda: alarm_states(cloudwatch),
            self._activities,
            speed=speed,
            clock=clock,
        )
        self.service = JsonService("application-autoscaling", self)

    # Targets

    def register_scalable_target(self, request: Record) -> Record:
        """RegisterScalableTarget; a target outside its limits is scaled at once."""
        key = TargetKey.from_request(request)
        with self._store.lock:
            registered = self._store.targets.get(key)
            defaults: Record = {"RoleARN": ROLE, "SuspendedState": SUSPENDED}
            record = {
                "CreationTime": self._clock(),
                "ScalableTargetARN": target_arn(uuid.uuid4().hex[:8]),
                **(registered.record if registered else defaults),
                **{name: value for name, value in request.items() if name != "Tags"},
            }
            record["SuspendedState"] = {**SUSPENDED, **record["SuspendedState"]}
            _check_limits(record)
            read_capacity(self._hosting, key)  # raises if the resource does not exist
            check_scalable(self._hosting, key)
            if registered and "Tags" in request:
                raise invalid(
                    "The scalable target that you tried to tag already exists. To update tags on "
                    "an existing scalable target, use the TagResource API."
                )
            target = self._store.targets.setdefault(
                key, RegisteredTarget(key, record, tags=request.get("Tags", {}))
            )
            target.record = record
            self.scaler.scale_into_limits(target)
        return {"ScalableTargetARN": record["ScalableTargetARN"]}

    def targets(self) -> list[RegisteredTarget]:
        """Return copies of the targets."""
        with self._store.lock:
            return copy.deepcopy(list(self._store.targets.values()))

    def scalable_variants(self, endpoint: str) -> set[str]:
        """Return the names of an endpoint's variants that are scalable targets."""
        with self._store.lock:
            keys = (key for key in self._store.targets if key.endpoint == endpoint)
            return {key.variant for key in keys if key.variant}

    def deregister_scalable_target(self, request: Record) -> Record:
        """DeregisterScalableTarget, which deletes the target's policies and scheduled actions."""
        # The word of moto's applicationautoscaling/models.py; other operations have another.
        self._remove(self._store.find(request, missing="found"))
        return {}

    def deregister_endpoint(self, endpoint: str) -> None:
        """Deregister all variants of a deleted endpoint."""
        for target in self.targets():
            if target.key.endpoint == endpoint:
                self._remove(target)

    def _remove(self, target: RegisteredTarget) -> None:
        with self._store.lock:
            self._store.targets.pop(target.key, None)
        for policy in target.policies.values():
            self._delete_alarms(policy)

    def list_tags_for_resource(self, request: Record) -> Record:
        """ListTagsForResource."""
        return {"Tags": self._by_arn(request["ResourceARN"]).tags}

    def tag_resource(self, request: Record) -> Record:
        """TagResource: add or overwrite tags."""
        target = self._by_arn(request["ResourceARN"])
        target.tags = {**target.tags, **request["Tags"]}
        return {}

    def untag_resource(self, request: Record) -> Record:
        """UntagResource; ignores keys that do not exist."""
        target, keys = self._by_arn(request["ResourceARN"]), request["TagKeys"]
        target.tags = {key: value for key, value in target.tags.items() if key not in keys}
        return {}

    def _by_arn(self, arn: str) -> RegisteredTarget:
        with self._store.lock:
            for target in self._store.targets.values():
                if target.record["ScalableTargetARN"] == arn:
                    return target
        raise ApiError("ResourceNotFoundException", f"{arn} does not exist.")

    # Policies

    def put_scaling_policy(self, request: Record) -> Record:
        """PutScalingPolicy, which creates the alarms of a target tracking policy.

        A second policy with the same metric is rejected: "provided that each of them uses a
        different metric" (user guide, "Target tracking scaling policies").
        """
        with self._store.lock:
            target, name = self._store.find(request), request["PolicyName"]
            policy = target.policies.get(name) or self._new_policy(target.key, name)
            policy = {**policy, **request}
            _check_policy(target, policy)
            alarms = [] if STEP_CONFIGURATION in policy else alarm_requests(target.key, policy)
            policy["Alarms"] = alarms_member(alarms)
            target.policies[name] = policy
        for alarm in alarms:
            self._cloudwatch.put_metric_alarm(**alarm)
        return {"PolicyARN": policy["PolicyARN"], "Alarms": policy["Alarms"]}

    def delete_scaling_policy(self, request: Record) -> Record:
        """DeleteScalingPolicy, which deletes the policy's alarms."""
        key, name = TargetKey.from_request(request), request["PolicyName"]
        with self._store.lock:
            target = self._store.targets.get(key)
            policy = target.policies.pop(name, None) if target else None
        if policy is None:  # words of moto's applicationautoscaling/models.py
            raise ApiError(
                "ObjectNotFoundException",
                f"No scaling policy found for {key.description}, policy name: {name}",
            )
        self._delete_alarms(policy)
        return {}

    def _new_policy(self, key: TargetKey, name: str) -> Record:
        arn = autoscaling_arn("scalingPolicy", str(uuid.uuid4()), key, f"policyName/{name}")
        return {"CreationTime": self._clock(), "PolicyARN": arn, "Alarms": []}

    def _delete_alarms(self, policy: Record) -> None:
        names = [alarm["AlarmName"] for alarm in policy["Alarms"]]
        self._cloudwatch.delete_alarms(AlarmNames=names)

    # Scheduled actions

    def put_scheduled_action(self, request: Record) -> Record:
        """PutScheduledAction; an existing action keeps the members that the request omits."""
        with self._store.lock:
            target, name = self._store.find(request), request["ScheduledActionName"]
            action = {**(target.actions.get(name) or self._new_action(target.key, name)), **request}
            _check_action(action)
            try:
                schedule = self._schedule(action)
            except ValueError as error:
                raise invalid(f"Invalid schedule: {error}") from None
            target.actions[name], target.schedules[name] = action, schedule
        return {}

    def delete_scheduled_action(self, request: Record) -> Record:
        """DeleteScheduledAction."""
        key, name = TargetKey.from_request(request), request["ScheduledActionName"]
        with self._store.lock:
            target = self._store.targets.get(key)
            if target is None or name not in target.actions:
                raise ApiError(
                    "ObjectNotFoundException",
                    f"No scheduled action found for {key.description}, "
                    f"scheduled action name: {name}",
                )
            del target.actions[name], target.schedules[name]
        return {}

    def _schedule(self, action: Record) -> Schedule:
        """Return the schedule of a scheduled action. Raise `ValueError`."""
        zone, since = action.get("Timezone", "UTC"), self._clock()
        return parse(action["Schedule"], zone=zone, since=since, speed=self._speed)

    def _new_action(self, key: TargetKey, name: str) -> Record:
        suffix = f"scheduledActionName/{name}"
        arn = autoscaling_arn("scheduledAction", str(uuid.uuid4()), key, suffix)
        return {"CreationTime": self._clock(), "ScheduledActionARN": arn}

    # Restart

    def records(self) -> list[Record]:
        """Return what `restore` needs: the targets, without activities and cooldowns."""
        members = ("record", "policies", "actions", "tags")
        return [{name: getattr(target, name) for name in members} for target in self.targets()]

    def restore(self, records: list[Record]) -> None:
        """Restore targets; CloudWatch has the alarms of their policies."""
        for target in records:
            key = TargetKey.from_request(target["record"])
            schedules = {name: self._schedule(each) for name, each in target["actions"].items()}
            self._store.targets[key] = RegisteredTarget(key, schedules=schedules, **target)

    # Describe operations

    def describe_scalable_targets(self, request: Record) -> Record:
        """DescribeScalableTargets."""
        return _describe("ScalableTargets", [target.record for target in self.targets()], request)

    def describe_scaling_policies(self, request: Record) -> Record:
        """DescribeScalingPolicies."""
        records = [policy for target in self.targets() for policy in target.policies.values()]
        return _describe("ScalingPolicies", records, request)

    def describe_scheduled_actions(self, request: Record) -> Record:
        """DescribeScheduledActions."""
        records = [action for target in self.targets() for action in target.actions.values()]
        return _describe("ScheduledActions", records, request)

    def describe_scaling_activities(self, request: Record) -> Record:
        """DescribeScalingActivities, the latest first."""
        not_scaled = request.get("IncludeNotScaledActivities", False)
        activities = self._activities.all(not_scaled=not_scaled)
        return _describe("ScalingActivities", activities, request)


def _check_limits(target: Record) -> None:
    """Raise `ApiError` unless a target has both limits, and the minimum is not above the maximum.

    Both are "required when registering a new scalable target" (API reference).
    """
    for member in ("MinCapacity", "MaxCapacity"):
        if member not in target:
            raise invalid(f"A new scalable target needs {member}.")
    if target["MinCapacity"] > target["MaxCapacity"]:
        # Before the resource is searched: badmintoncryer/cdk-preflight, which asked AWS.
        raise invalid("Maximum capacity cannot be less than minimum capacity")


def _check_policy(target: RegisteredTarget, policy: Record) -> None:
    """Raise `ApiError` without a configuration, or for a metric that another policy tracks.

    Source of the second message: gravitational/teleport, lib/backend/dynamo.
    """
    is_stepped = policy.get("PolicyType") == STEP_SCALING
    member = STEP_CONFIGURATION if is_stepped else TRACKING_CONFIGURATION
    if member not in policy:
        raise invalid(f"A policy of type {policy.get('PolicyType')} needs a {member}.")
    if is_stepped:
        return
    other_policies = (
        other for name, other in target.policies.items() if name != policy["PolicyName"]
    )
    if any(_metric(other) == _metric(policy) for other in other_policies):
        raise invalid(
            "Only one TargetTrackingScaling policy for a given metric specification is allowed."
        )


def _metric(policy: Record) -> tuple[Any, ...]:
    configuration = policy.get(TRACKING_CONFIGURATION, {})
    members = ("PredefinedMetricSpecification", "CustomizedMetricSpecification")
    return tuple(configuration.get(member) for member in members)


def _check_action(action: Record) -> None:
    """Raise `ApiError` for missing members of a scheduled action; the messages have no source."""
    for member in ("Schedule", "ScalableTargetAction"):
        if member not in action:
            raise invalid(f"A new scheduled action needs {member}.")


def _describe(name: str, records: Iterable[Record], request: Record) -> Record:
    """Return the response of a Describe operation: one page of records, activities latest first."""
    allowed = {
        **{name: [request[name]] for name in KEY_MEMBERS if name in request},
        **{name: request[key] for key, name in _FILTERED_MEMBERS.items() if request.get(key)},
    }
    time, identifier = _ORDER[name]
    records_page, next_token = page(
        (
            record
            for record in records
            if all(record[member] in values for member, values in allowed.items())
        ),
        request,
        key=lambda record: (record[time], record[identifier]),
        size=_PAGE_SIZES.get(name, _PAGE_SIZE),
        descending=name == "ScalingActivities",
        error_code="InvalidNextTokenException",
    )
    return {name: records_page, **next_token}
