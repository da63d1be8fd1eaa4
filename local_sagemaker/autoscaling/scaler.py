"""The scaler: changes capacities according to alarms and schedules."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from local_sagemaker.autoscaling.activities import Activities
from local_sagemaker.autoscaling.alarms import HIGH, LOW, AlarmState, alarms_of
from local_sagemaker.autoscaling.scaled_capacity import (
    ScaledCapacity,
    scaled_capacity,
    set_capacity,
)
from local_sagemaker.autoscaling.step_scaling import CONFIGURATION, STEP_SCALING, adjustment
from local_sagemaker.autoscaling.store import RegisteredTarget, ScalingStep, Store
from local_sagemaker.autoscaling.target_tracking import PolicyState, decide
from local_sagemaker.autoscaling.targets import Record, TargetKey
from local_sagemaker.errors import ApiError

if TYPE_CHECKING:
    from local_sagemaker.sagemaker.component_operations import ComponentOperations

INTERVAL_SECONDS = 10
"""Interval of polling the alarms: the evaluation interval of high-resolution alarms. For Auto
Scaling, an alarm "continues to invoke the action once per minute that the alarm remains in the new
state" (CloudWatch user guide, "Alarm actions"); with a high-resolution metric it was observed every
ten seconds (aws-samples/sample-kokoro-tts-for-ai-agents, tts_bench/ttotal.py)."""

TRACKING = "TargetTrackingScalingPolicyConfiguration"
COOLDOWN_SECONDS = 300
"""Default cooldown for SageMaker's variants; source: the API reference of
TargetTrackingScalingPolicyConfiguration."""


class Scaler:
    """Scales every target of a store. `states` returns the alarms of policies by name.

    Cooldowns are divided by `speed`. All methods are thread-safe.
    """

    def __init__(
        self,
        store: Store,
        hosting: "ComponentOperations",
        states: Callable[[], Mapping[str, AlarmState]],
        activities: Activities,
        *,
        speed: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._hosting, self._states = store, hosting, states
        self._activities, self._speed, self._clock = activities, speed, clock
        self._looked = clock()

    def tick(self) -> None:
        """Run due scheduled actions, and scale according to the current alarm states."""
        with self._store.lock:
            has_policies = any(target.policies for target in self._store.targets.values())
        states = self._states() if has_policies else {}
        with self._store.lock:
            since, self._looked = self._looked, self._clock()
            for target in self._store.targets.values():
                self._finish(target)
                for action in _due(target, since, self._looked):
                    self._set_limits(target, action)
                self._follow(target, states)

    def into_limits(self, target: RegisteredTarget) -> None:
        """Scale a target into its limits immediately.

        Does nothing while the endpoint is updating: "if the specified resource is not active in the
        target service, this operation does not change the resource's current capacity" (API
        reference of RegisterScalableTarget).
        """
        with self._store.lock:
            self._finish(target)
            now = self._now(target.key)
            if now is None or now.status != "InService":
                return
            smallest, largest = target.limits
            desired = min(max(now.desired, smallest), largest)
            if desired != now.desired:
                name = "minimum" if desired > now.desired else "maximum"
                cause = f"{name} capacity was set to {desired}"
                self._scale(target, ScalingStep(now.desired, desired), cause)

    def _set_limits(self, target: RegisteredTarget, action: Record) -> None:
        """Run a scheduled action, which "sets the MinCapacity and MaxCapacity" (user guide).

        It fails if the new minimum is above the current maximum ("you must include both sizes"), or
        if the resource is not "in a scalable state" (user guide,
        scheduled-scaling-policy-overview). Without a source: a failed action leaves the limits
        unchanged, and the messages.
        """
        limits = {
            name: action["ScalableTargetAction"].get(name, target.record[name])
            for name in ("MinCapacity", "MaxCapacity")
        }
        smallest, largest = limits.values()
        refusal = self._refusal(target.key, smallest, largest)
        name = action["ScheduledActionName"]
        self._activities.limits(target.key, name, smallest, largest, refusal)
        if refusal is None:
            target.record.update(limits)
            self.into_limits(target)

    def _refusal(self, key: TargetKey, smallest: int, largest: int) -> str | None:
        """Return the reason why a scheduled action cannot set these limits now, or None."""
        if smallest > largest:
            return "Minimum capacity cannot be greater than maximum capacity"
        now = self._now(key)
        status = now.status if now else "not there"
        if status == "InService":
            return None
        return f"Resource Id [{key.resource}] is not scalable. Reason: {_words(key)} is {status}"

    def _follow(self, target: RegisteredTarget, states: Mapping[str, AlarmState]) -> None:
        """Scale a target according to all its policies."""
        now = self._now(target.key)
        if now is None or now.status != "InService" or target.step:
            return
        current, (smallest, largest) = now.desired, target.limits
        policies = [
            self._policy(record, states, target, current)
            for record in target.policies.values()
            if record.get("PolicyType") != STEP_SCALING
        ]
        decision = decide(policies, current=current, smallest=smallest, largest=largest)
        change, policy_name, alarm = self._step(target, states)
        stepped = min(current + change, largest)
        if change > 0 and stepped > max(current, decision.capacity if decision else 0):
            cause = f"monitor alarm {alarm} in state ALARM triggered policy {policy_name}"
            self._scale(target, ScalingStep(current, stepped, policy_name), cause)
            return
        if decision is None:
            return
        policy = target.policies[decision.policy]
        if not decision.scales_out and self._cools(target.into, policy, "ScaleInCooldown"):
            return
        alarm = alarms_of(policy)[HIGH if decision.scales_out else LOW]
        cause = f"monitor alarm {alarm} in state ALARM triggered policy {decision.policy}"
        bases = {policy.name: policy.base for policy in policies}
        before = bases[decision.policy] if decision.scales_out else current
        self._scale(target, ScalingStep(before, decision.capacity, decision.policy), cause)

    def _step(
        self, target: RegisteredTarget, states: Mapping[str, AlarmState]
    ) -> tuple[int, str, str]:
        """Return the largest change of all step scaling policies, the policy, and its alarm.

        "Application Auto Scaling scales based on the policy that provides the largest capacity"
        (user guide). Negative changes are not emulated.
        """
        changes = (
            (change, name, alarm)
            for name, policy in target.policies.items()
            if policy.get("PolicyType") == STEP_SCALING
            and not self._cools(target.out, policy, "Cooldown")
            for change, alarm in [adjustment(policy, states)]
        )
        return max(changes, default=(0, "", ""))

    def _policy(
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
        configuration = record[TRACKING]
        alarms = alarms_of(record)
        high, low = (states.get(alarms.get(kind, "")) for kind in (HIGH, LOW))
        cooling = self._cools(target.out, record, "ScaleOutCooldown")
        return PolicyState(
            name=record["PolicyName"],
            target=configuration["TargetValue"],
            high=high.points if high and high.in_alarm else None,
            low=low.points if low and low.in_alarm else None,
            base=target.out.before if target.out and cooling else current,
        )

    def _cools(self, step: ScalingStep | None, policy: Record, member: str) -> bool:
        """Return whether the cooldown "after a scaling activity completes" has not passed yet."""
        if step is None:
            return False
        configuration = policy.get(CONFIGURATION) or policy[TRACKING]
        cooldown = float(configuration.get(member, COOLDOWN_SECONDS))
        return (self._clock() - step.ended) * self._speed < cooldown

    def _scale(self, target: RegisteredTarget, step: ScalingStep, cause: str) -> None:
        key = target.key
        try:
            set_capacity(self._hosting, key, step.capacity)
        except ApiError as error:
            self._activities.fail(key, step.capacity, cause, error)
            return
        target.step = replace(step, activity=self._activities.begin(key, step.capacity, cause))

    def _finish(self, target: RegisteredTarget) -> None:
        """Complete the scaling step in progress if SageMaker has; this starts the cooldown."""
        step, now = target.step, self._now(target.key)
        if step is None or (now and now.status in ("Updating", "RollingBack")):
            return
        target.step = None
        if now is None or now.desired != step.capacity:
            problem = now.problem if now else f"{_words(target.key)} is gone"
            self._activities.end(step.activity, step.capacity, problem)
            return
        self._activities.end(step.activity, step.capacity, None)
        ended = replace(step, ended=self._clock())
        if step.policy and step.capacity > step.before:  # "the scale-in cooldown period stops"
            target.out, target.into = ended, None
        elif step.policy:
            target.into = ended

    def _now(self, key: TargetKey) -> ScaledCapacity | None:
        try:
            return scaled_capacity(self._hosting, key)
        except ApiError:
            return None


def _words(key: TargetKey) -> str:
    return "the inference component" if key.component else "the endpoint"


def _due(target: RegisteredTarget, after: float, until: float) -> Iterator[Record]:
    """Yield the scheduled actions that are due."""
    for name, action in target.actions.items():
        if target.schedules[name](after, until):
            yield action
