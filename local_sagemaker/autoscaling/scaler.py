"""Scales: what alarms and schedules ask for becomes a number of instances."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from local_sagemaker.autoscaling.activities import Activities
from local_sagemaker.autoscaling.alarms import HIGH, LOW, AlarmState, alarms_of
from local_sagemaker.autoscaling.store import Store, Target
from local_sagemaker.autoscaling.target_tracking import Decision, NotScaled, Policy, decide
from local_sagemaker.autoscaling.targets import Record, TargetKey
from local_sagemaker.errors import ApiError

EVERY_SECONDS = 10
"""Between two looks at the alarms, as often as those of high resolution are evaluated. For Auto
Scaling, an alarm "continues to invoke the action once per minute that the alarm remains in the new
state" (CloudWatch user guide, "Alarm actions"); with a metric of high resolution it was seen to do
so every ten seconds (aws-samples/sample-kokoro-tts-for-ai-agents, tts_bench/ttotal.py)."""

COOLDOWN_SECONDS = 300
"""Where a policy says nothing, of SageMaker's variants; source: the API reference of
TargetTrackingScalingPolicyConfiguration."""


class Variants(Protocol):
    """What is asked of SageMaker's control plane."""

    def describe_endpoint(self, request: Record) -> Record:
        """DescribeEndpoint."""

    def update_endpoint_weights_and_capacities(self, request: Record) -> Record:
        """UpdateEndpointWeightsAndCapacities."""


@dataclass(frozen=True)
class _Step:
    """A change of capacity; `policy` is what asked for it, if that was a policy.

    `before` is what it was reckoned from: a larger step within a cooldown has that of the first.
    """

    before: int
    capacity: int
    policy: str | None = None
    ended: float = 0.0


@dataclass
class _History:
    """The step that is under way, and the last one out and in that a policy asked for."""

    activity: Record | None = None
    step: _Step | None = None
    out: _Step | None = None
    into: _Step | None = None


class Scaler:
    """Scales every target of a store. `states` gives the alarms of policies by name.

    At a `speed`, cooldowns pass so much faster. Every method is safe to call from any thread.
    """

    def __init__(
        self,
        store: Store,
        variants: Variants,
        states: Callable[[], Mapping[str, AlarmState]],
        activities: Activities,
        *,
        speed: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._variants, self._states = store, variants, states
        self._activities, self._speed, self._clock = activities, speed, clock
        self._lock = threading.RLock()
        self._histories: dict[TargetKey, _History] = {}
        self._looked = clock()

    def tick(self) -> None:
        """Do what schedules and alarms ask for now."""
        keys = self._store.all_keys()
        states = self._states() if self._any_policy() else {}
        with self._lock:
            since, self._looked = self._looked, self._clock()
            self._histories = {it: self._histories.get(it, _History()) for it in keys}
            for key in keys:
                with self._store.locked() as targets:
                    target = targets.get(key)
                    if target is None:  # it was deregistered meanwhile
                        continue
                    due = _due(target, since, self._looked)
                    policies = dict(target.policies)
                self._finish(key)
                for action in due:
                    self._set_limits(target, action)
                self._follow(target, policies, states)

    def into_limits(self, target: Target) -> None:
        """Scale a target that is outside its limits, at once.

        Where the endpoint is at work it is left: "if the specified resource is not active in the
        target service, this operation does not change the resource's current capacity" (API
        reference of RegisterScalableTarget).
        """
        with self._lock:
            self._finish(target.key)
            endpoint = self._endpoint(target.key)
            if endpoint is None or endpoint["EndpointStatus"] != "InService":
                return
            current = _capacity(target.key, endpoint)
            smallest, largest = target.limits
            if current < smallest:
                cause = f"minimum capacity was set to {smallest}"
                self._scale(target.key, _Step(current, smallest), cause)
            elif current > largest:
                cause = f"maximum capacity was set to {largest}"
                self._scale(target.key, _Step(current, largest), cause)

    def _any_policy(self) -> bool:
        with self._store.locked() as targets:
            return any(it.policies for it in targets.values())

    def _set_limits(self, target: Target, action: Record) -> None:
        """Do what a scheduled action says: "sets the MinCapacity and MaxCapacity" (user guide).

        It fails with a minimum above the maximum that is in force, so that "you must include both
        sizes", and where the resource is not "in a scalable state" (user guide,
        scheduled-scaling-policy-overview). That the limits stay then, and the activity's words,
        have no source.
        """
        limits = action["ScalableTargetAction"]
        smallest, largest = (
            limits.get(name, old)
            for name, old in zip(("MinCapacity", "MaxCapacity"), target.limits, strict=True)
        )
        refusal = self._refusal(target.key, smallest, largest)
        name = action["ScheduledActionName"]
        self._activities.limits(target.key, name, smallest, largest, refusal)
        if refusal is None:
            with self._store.locked():
                target.record.update(MinCapacity=smallest, MaxCapacity=largest)
            self.into_limits(target)

    def _refusal(self, key: TargetKey, smallest: int, largest: int) -> str | None:
        """Return why limits cannot be set by a schedule now, or None."""
        if smallest > largest:
            return "Minimum capacity cannot be greater than maximum capacity"
        endpoint = self._endpoint(key)
        status = endpoint["EndpointStatus"] if endpoint else "not there"
        if status == "InService":
            return None
        return f"Resource Id [{key.resource}] is not scalable. Reason: the endpoint is {status}"

    def _follow(
        self, target: Target, policies: Mapping[str, Record], states: Mapping[str, AlarmState]
    ) -> None:
        """Do what the policies of a target ask for together."""
        key, history = target.key, self._histories[target.key]
        endpoint = self._endpoint(key)
        if endpoint is None or history.activity is not None:
            return
        current = _capacity(key, endpoint)
        smallest, largest = target.limits
        asking = [self._policy(it, states, history, current) for it in policies.values()]
        decision = decide(asking, current=current, smallest=smallest, largest=largest)
        if decision is None or self._waits(decision, policies, history):
            return
        if endpoint["EndpointStatus"] != "InService":
            decision = replace(decision, capacity=current, reason=NotScaled.UNSCALABLE)
        alarm = alarms_of(policies[decision.policy])[HIGH if decision.scales_out else LOW]
        cause = f"monitor alarm {alarm} in state ALARM triggered policy {decision.policy}"
        if decision.reason:
            self._activities.not_scaled(key, cause, decision, smallest, largest)
        else:
            bases = {it.name: it.base for it in asking}
            before = bases[decision.policy] if decision.scales_out else current
            self._scale(key, _Step(before, decision.capacity, decision.policy), cause)

    def _policy(
        self, record: Record, states: Mapping[str, AlarmState], history: _History, current: int
    ) -> Policy:
        """Return a policy as it is now.

        "While the scale-out cooldown period is in effect, the capacity added by the initiating
        scale-out activity is calculated as part of the desired capacity for the next scale-out
        activity" (user guide): only what would have been a larger step is one.
        """
        configuration = record["TargetTrackingScalingPolicyConfiguration"]
        named = alarms_of(record)
        high, low = (states.get(named.get(it, "")) for it in (HIGH, LOW))
        out = history.out
        cooling = out is not None and self._cools(out, configuration, "ScaleOutCooldown")
        return Policy(
            name=record["PolicyName"],
            target=configuration["TargetValue"],
            high=high.points if high and high.in_alarm else None,
            low=low.points if low and low.in_alarm else None,
            base=out.before if out and cooling else current,
            scales_in=not configuration.get("DisableScaleIn"),
        )

    def _waits(self, decision: Decision, policies: Mapping[str, Record], history: _History) -> bool:
        """Whether a decision is put off: a scale-in was just made."""
        configuration = policies[decision.policy]["TargetTrackingScalingPolicyConfiguration"]
        into = None if decision.scales_out else history.into
        return into is not None and self._cools(into, configuration, "ScaleInCooldown")

    def _cools(self, step: _Step, configuration: Record, member: str) -> bool:
        """Whether the cooldown of a step runs, "after a scaling activity completes"."""
        cooldown = configuration.get(member, COOLDOWN_SECONDS)
        return (self._clock() - step.ended) * self._speed < float(cooldown)

    def _scale(self, key: TargetKey, step: _Step, cause: str) -> None:
        wanted = {"VariantName": key.variant, "DesiredInstanceCount": step.capacity}
        try:
            self._variants.update_endpoint_weights_and_capacities(
                {"EndpointName": key.endpoint, "DesiredWeightsAndCapacities": [wanted]}
            )
        except ApiError as error:
            self._activities.fail(key, step.capacity, cause, error)
            return
        history = self._histories[key]
        history.activity = self._activities.begin(key, step.capacity, cause)
        history.step = step

    def _finish(self, key: TargetKey) -> None:
        """Look whether the step under way has been made; a policy's cooldown begins then."""
        history = self._histories.setdefault(key, _History())
        if history.activity is None or history.step is None:
            return
        endpoint, step = self._endpoint(key), history.step
        if endpoint and endpoint["EndpointStatus"] in ("Updating", "RollingBack"):
            return
        if endpoint and _capacity(key, endpoint) == step.capacity:
            self._activities.end(history.activity, step.capacity, None)
            if step.policy:
                ended = replace(step, ended=self._clock())
                if step.capacity > step.before:  # "the scale-in cooldown period stops"
                    history.out, history.into = ended, None
                else:
                    history.into = ended
        else:
            why = endpoint.get("FailureReason", "") if endpoint else "the endpoint is gone"
            self._activities.end(history.activity, step.capacity, why)
        history.activity = history.step = None

    def _endpoint(self, key: TargetKey) -> Record | None:
        try:
            return self._variants.describe_endpoint({"EndpointName": key.endpoint})
        except ApiError:
            return None


def _due(target: Target, after: float, until: float) -> list[Record]:
    """Return the scheduled actions that are due.

    Between its StartTime, when it is due once, and its EndTime.
    """
    due = []
    for name, action in target.actions.items():
        start, end = action.get("StartTime", after), action.get("EndTime", until)
        starts = "StartTime" in action and after < start <= until
        recurs = start <= until <= end and target.schedules[name](after, until)
        if starts or recurs:
            due.append(action)
    return due


def _capacity(key: TargetKey, endpoint: Record) -> int:
    variants = {it["VariantName"]: it for it in endpoint.get("ProductionVariants", [])}
    return int(variants.get(key.variant, {}).get("DesiredInstanceCount", 0))
