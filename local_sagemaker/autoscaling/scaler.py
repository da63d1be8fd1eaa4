"""Scaling according to alarms and schedules."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from local_sagemaker.autoscaling.activities import Activities
from local_sagemaker.autoscaling.alarms import HIGH, LOW, AlarmState, alarm_names
from local_sagemaker.autoscaling.scaled_capacity import ScaledCapacity, read_capacity, set_capacity
from local_sagemaker.autoscaling.step_scaling import step_adjustment
from local_sagemaker.autoscaling.target_tracking import (
    Decision,
    PolicyState,
    at_maximum,
    decide,
)
from local_sagemaker.autoscaling.targets import (
    STEP_CONFIGURATION,
    STEP_SCALING,
    TRACKING_CONFIGURATION,
    Record,
    RegisteredTarget,
    ScalingStep,
    Store,
    TargetKey,
)
from local_sagemaker.errors import ApiError

if TYPE_CHECKING:
    from local_sagemaker.sagemaker.component_operations import HostingOperations

INTERVAL_SECONDS = 10
"""Interval of polling the alarms: the evaluation interval of high-resolution alarms. For Auto
Scaling, an alarm "continues to invoke the action once per minute that the alarm remains in the new
state" (CloudWatch user guide, "Alarm actions"); with a high-resolution metric it was observed every
ten seconds (aws-samples/sample-kokoro-tts-for-ai-agents, tts_bench/ttotal.py)."""

COOLDOWN_SECONDS = 300
"""Default cooldown for SageMaker's variants; source: the API reference of
TargetTrackingScalingPolicyConfiguration."""


class Scaler:
    """Scaling of the targets of a store. All methods are thread-safe.

    `alarm_states` returns the states of the policies' alarms by name. Cooldowns are divided by
    `speed`.
    """

    def __init__(
        self,
        store: Store,
        hosting: "HostingOperations",
        alarm_states: Callable[[], Mapping[str, AlarmState]],
        activities: Activities,
        *,
        speed: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._hosting, self._alarm_states = store, hosting, alarm_states
        self._activities, self._speed, self._clock = activities, speed, clock
        self._last_tick = clock()

    def tick(self) -> None:
        """Run due scheduled actions, and scale according to the current alarm states."""
        with self._store.lock:
            has_policies = any(target.policies for target in self._store.targets.values())
        states = self._alarm_states() if has_policies else {}
        with self._store.lock:
            last_tick, self._last_tick = self._last_tick, self._clock()
            for target in self._store.targets.values():
                self._finish_step(target)
                for action in _due_actions(target, last_tick, self._last_tick):
                    if not target.is_suspended("ScheduledScalingSuspended"):
                        self._set_limits(target, action)
                self._apply_policies(target, states)

    def scale_into_limits(self, target: RegisteredTarget) -> None:
        """Scale a target into its limits immediately.

        Does nothing while the endpoint is updating: "if the specified resource is not active in the
        target service, this operation does not change the resource's current capacity" (API
        reference of RegisterScalableTarget).
        """
        with self._store.lock:
            self._finish_step(target)
            capacity = self._read_capacity(target.key)
            if capacity is None or capacity.status != "InService":
                return
            minimum, maximum = target.limits
            desired = min(max(capacity.desired, minimum), maximum)
            if desired != capacity.desired:
                name = "minimum" if desired > capacity.desired else "maximum"
                cause = f"{name} capacity was set to {desired}"
                self._scale(target, ScalingStep(capacity.desired, desired), cause)

    def _set_limits(self, target: RegisteredTarget, action: Record) -> None:
        """Run a scheduled action, which "sets the MinCapacity and MaxCapacity" (user guide).

        The action fails if the new minimum is above the current maximum ("you must include both
        sizes"), or if the resource is not "in a scalable state" (user guide,
        scheduled-scaling-policy-overview). That a failed action leaves the limits unchanged has no
        source, and the messages have none.
        """
        limits = {
            name: action["ScalableTargetAction"].get(name, target.record[name])
            for name in ("MinCapacity", "MaxCapacity")
        }
        minimum, maximum = limits.values()
        failure = self._limits_failure(target.key, minimum, maximum)
        name = action["ScheduledActionName"]
        self._activities.add_scheduled(target.key, name, minimum, maximum, failure)
        if failure is None:
            target.record.update(limits)
            self.scale_into_limits(target)

    def _limits_failure(self, key: TargetKey, minimum: int, maximum: int) -> str | None:
        """Return the reason why a scheduled action cannot set these limits now, or None."""
        if minimum > maximum:
            return "Minimum capacity cannot be greater than maximum capacity"
        capacity = self._read_capacity(key)
        status = capacity.status if capacity else "deleted"
        if status == "InService":
            return None
        return f"Resource Id [{key.resource}] is not scalable. Reason: {_label(key)} is {status}"

    def _apply_policies(self, target: RegisteredTarget, states: Mapping[str, AlarmState]) -> None:
        """Scale a target according to all its policies, or record why it is not scaled."""
        capacity = self._read_capacity(target.key)
        if capacity is None or target.step:
            return
        current, (minimum, maximum) = capacity.desired, target.limits
        policies = [
            self._policy_state(record, states, target, current)
            for record in target.policies.values()
            if record.get("PolicyType") != STEP_SCALING
        ]
        decision = decide(policies, current=current, minimum=minimum, maximum=maximum)
        change, policy_name, alarm = self._largest_step(target, states)
        step_capacity = min(current + change, maximum)
        if change > 0 and step_capacity >= max(current, decision.capacity if decision else 0):
            not_scaled = None if step_capacity > current else at_maximum(maximum)
            decision = Decision(policy_name, True, step_capacity, not_scaled)
            old_capacity = current
        elif decision is None:
            return
        else:
            alarm = alarm_names(target.policies[decision.policy])[
                HIGH if decision.scales_out else LOW
            ]
            bases = {policy.name: policy.base for policy in policies}
            old_capacity = bases[decision.policy] if decision.scales_out else current
        direction = "Out" if decision.scales_out else "In"
        if target.is_suspended(f"DynamicScaling{direction}Suspended"):
            return
        cause = f"monitor alarm {alarm} in state ALARM triggered policy {decision.policy}"
        if capacity.status != "InService":
            decision = replace(
                decision, not_scaled={"Code": "TargetServicePutResourceAsUnscalable"}
            )
        if decision.not_scaled:
            self._activities.add_not_scaled(target.key, cause, decision.not_scaled)
        elif decision.scales_out or not self._is_cooling_down(
            target.scale_in, target.policies[decision.policy], "ScaleInCooldown"
        ):
            self._scale(
                target, ScalingStep(old_capacity, decision.capacity, decision.policy), cause
            )

    def _largest_step(
        self, target: RegisteredTarget, states: Mapping[str, AlarmState]
    ) -> tuple[int, str, str]:
        """Return the largest change of all step scaling policies, with its policy and alarm.

        "Application Auto Scaling scales based on the policy that provides the largest capacity"
        (user guide). Negative changes are not emulated.
        """
        changes = (
            (change, name, alarm)
            for name, policy in target.policies.items()
            if policy.get("PolicyType") == STEP_SCALING
            and not self._is_cooling_down(target.scale_out, policy, "Cooldown")
            for change, alarm in [step_adjustment(policy, states)]
        )
        return max(changes, default=(0, "", ""))

    def _policy_state(
        self,
        record: Record,
        states: Mapping[str, AlarmState],
        target: RegisteredTarget,
        current: int,
    ) -> PolicyState:
        """Return the current state of a target tracking policy.

        "While the scale-out cooldown period is in effect, the capacity added by the initiating
        scale-out activity is calculated as part of the desired capacity for the next scale-out
        activity" (user guide): during the cooldown, only a larger change has an effect.
        """
        configuration = record[TRACKING_CONFIGURATION]
        alarms = alarm_names(record)
        high, low = (states.get(alarms.get(kind, "")) for kind in (HIGH, LOW))
        is_cooling_down = self._is_cooling_down(target.scale_out, record, "ScaleOutCooldown")
        return PolicyState(
            name=record["PolicyName"],
            target=configuration["TargetValue"],
            high=high.points if high and high.in_alarm else None,
            low=low.points if low and low.in_alarm else None,
            base=target.scale_out.old_capacity if target.scale_out and is_cooling_down else current,
            scales_in=not configuration.get("DisableScaleIn"),
        )

    def _is_cooling_down(self, step: ScalingStep | None, policy: Record, member: str) -> bool:
        """Return whether the cooldown "after a scaling activity completes" has not ended."""
        if step is None:
            return False
        configuration = policy.get(STEP_CONFIGURATION) or policy[TRACKING_CONFIGURATION]
        cooldown = float(configuration.get(member, COOLDOWN_SECONDS))
        return (self._clock() - step.end_time) * self._speed < cooldown

    def _scale(self, target: RegisteredTarget, step: ScalingStep, cause: str) -> None:
        key = target.key
        try:
            set_capacity(self._hosting, key, step.capacity)
        except ApiError as error:
            self._activities.add_rejected(key, step.capacity, cause, error)
            return
        activity = self._activities.add_accepted(key, step.capacity, cause)
        target.step = replace(step, activity=activity)

    def _finish_step(self, target: RegisteredTarget) -> None:
        """Complete the step in progress if SageMaker has; the cooldown starts then."""
        step, capacity = target.step, self._read_capacity(target.key)
        if step is None or (capacity and capacity.status in ("Updating", "RollingBack")):
            return
        target.step = None
        if capacity is None or capacity.desired != step.capacity:
            failure = capacity.failure_reason if capacity else f"{_label(target.key)} is deleted"
            self._activities.complete(step.activity, step.capacity, failure)
            return
        self._activities.complete(step.activity, step.capacity, None)
        step = replace(step, end_time=self._clock())
        if step.policy and step.capacity > step.old_capacity:
            target.scale_out, target.scale_in = step, None  # "the scale-in cooldown period stops"
        elif step.policy:
            target.scale_in = step

    def _read_capacity(self, key: TargetKey) -> ScaledCapacity | None:
        try:
            return read_capacity(self._hosting, key)
        except ApiError:
            return None


def _label(key: TargetKey) -> str:
    return "the inference component" if key.component else "the endpoint"


def _due_actions(target: RegisteredTarget, after: float, until: float) -> Iterator[Record]:
    """Yield the scheduled actions that are due."""
    for name, action in target.actions.items():
        if target.schedules[name](after, until):
            yield action
