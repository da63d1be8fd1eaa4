"""Scaling of a variant."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Unpack

from aws_cdk import TimeZone
from aws_cdk import aws_applicationautoscaling as scaling
from constructs import Construct

from platform_facts.rules import Violation, pools, ranges, schedules
from platform_facts.rules import scaling as rules
from platform_facts.rules.scaling import SCALING_TARGET_SHARE
from triton_sagemaker.endpoint_metrics import EndpointMetrics
from triton_sagemaker.multi_model_hosting import MultiModelHosting
from triton_sagemaker.problems import Problem, check
from triton_sagemaker.scalable_count import Cooldowns, ScalableCount
from triton_sagemaker.variant import Variant


class ScalableInstanceCount(ScalableCount):
    """Scaling of the number of instances of one variant; see `auto_scale_instance_count`.

    The methods have the names and arguments of aws-sagemaker-alpha.
    """

    scalable_dimension = "sagemaker:variant:DesiredInstanceCount"
    method = "auto_scale_instance_count"

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        after: Construct,
        metrics: EndpointMetrics,
        variant: Variant,
        min_capacity: int,
        max_capacity: int,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            after=after,
            resource_id=f"endpoint/{metrics.endpoint_name}/variant/{variant.variant_name}",
            dimensions=metrics.dimensions,
            min_capacity=min_capacity,
            max_capacity=max_capacity,
            parent_argument=f"variants.{variant.variant_name}",
        )
        self._variant, count = variant, variant.initial_instance_count
        limits = min_capacity, max_capacity
        self._checks.append(partial(_limit_problems, self.method, *limits))
        self._checks.append(partial(check, rules.check_instance_count, count, *limits))

    def scale_on_invocations(
        self, construct_id: str, *, max_requests_per_second: float, **cooldowns: Unpack[Cooldowns]
    ) -> None:
        """Keep each instance at half of `max_requests_per_second`, as sustained in a load test."""
        argument, metric = "scale_on_invocations", "SageMakerVariantInvocationsPerInstance"
        self._add_check(argument, ranges.MAX_RPS, max_requests_per_second)
        per_minute = max_requests_per_second * SCALING_TARGET_SHARE * 60
        self._track(construct_id, argument, metric, per_minute, cooldowns)

    def scale_on_concurrency(
        self,
        construct_id: str,
        *,
        requests_per_instance: float | Mapping[str, float],
        **cooldowns: Unpack[Cooldowns],
    ) -> None:
        """Keep the number of requests in progress in each instance at `requests_per_instance`.

        For single-model hosting. The metric is measured every ten seconds, so that this policy
        reacts fastest. For a variant with fallbacks, `requests_per_instance` may be a mapping from
        instance type to number, with metrics of one minute.
        """
        argument, targets = "scale_on_concurrency", requests_per_instance
        metric = "SageMakerVariantConcurrentRequestsPerModelHighResolution"
        if not isinstance(targets, Mapping):
            self._add_check(argument, ranges.CONCURRENCY, targets)
            if isinstance(self._variant.hosting, MultiModelHosting):
                self._add_check(argument, rules.check_no_concurrency_scaling, targets)
            self._track(construct_id, argument, metric, targets, cooldowns)
            return
        names = [instance_type.name for instance_type in self._variant.instance_types]
        types = names if len(names) > 1 else None
        self._add_check(argument, pools.check_concurrency_per_type, targets, types)
        for target in targets.values():
            self._add_check(argument, ranges.CONCURRENCY, target)
        self._track(construct_id, argument, metric, targets, cooldowns)

    def scale_on_gpu_utilization(
        self,
        construct_id: str,
        *,
        target_utilization_percent: float,
        **cooldowns: Unpack[Cooldowns],
    ) -> None:
        """Keep each GPU at `target_utilization_percent`; the metric is their sum."""
        percent = target_utilization_percent
        self.scale_on_utilization(
            construct_id, "gpu_percent", target_utilization_percent=percent, **cooldowns
        )

    def scale_on_cpu_utilization(
        self,
        construct_id: str,
        *,
        target_utilization_percent: float,
        **cooldowns: Unpack[Cooldowns],
    ) -> None:
        """Keep each vCPU at `target_utilization_percent`; the metric is their sum."""
        percent = target_utilization_percent
        self.scale_on_utilization(
            construct_id, "cpu_percent", target_utilization_percent=percent, **cooldowns
        )

    def scale_on_utilization(
        self,
        construct_id: str,
        key: str,
        *,
        target_utilization_percent: float,
        **cooldowns: Unpack[Cooldowns],
    ) -> None:
        """Keep a utilization, a key of `platform_facts.rules.scaling.UTILIZATIONS`, at a target.

        Raise `KeyError` for another key.
        """
        utilization, percent = rules.UTILIZATIONS[key], target_utilization_percent
        argument = f"scale_on_{key.removesuffix('_percent')}_utilization"
        self._add_check(argument, rules.check_utilization, key, self._variant.instance_types)
        self._add_check(argument, ranges.UTILIZATION_PERCENT, percent)
        total = percent * utilization.count(self._variant.instance_type)
        self._track(construct_id, argument, utilization.metric, total, cooldowns)

    def scale_on_schedule(
        self,
        construct_id: str,
        *,
        schedule: scaling.Schedule,
        min_capacity: int,
        max_capacity: int,
        time_zone: TimeZone | None = None,
    ) -> None:
        """Change the limits at the times of `schedule`; `time_zone` is UTC by default."""
        argument = f"scale_on_schedule.{construct_id}"
        expression = schedule.expression_string
        zone = time_zone.timezone_name if time_zone else None
        self._add_check(argument, schedules.check_schedule, expression)
        if zone:
            self._add_check(argument, schedules.check_time_zone, zone)
        self._checks.append(partial(_limit_problems, argument, min_capacity, max_capacity))
        self._actions.append(
            scaling.CfnScalableTarget.ScheduledActionProperty(
                scheduled_action_name=construct_id,
                schedule=expression,
                timezone=zone,
                scalable_target_action=scaling.CfnScalableTarget.ScalableTargetActionProperty(
                    min_capacity=min_capacity, max_capacity=max_capacity
                ),
            )
        )
        self._target.scheduled_actions = self._actions

    def _add_check(
        self, argument: str, rule: Callable[..., list[Violation]], *values: object
    ) -> None:
        self._checks.append(partial(check, rule, *values, argument=argument))


def _limit_problems(argument: str, minimum: int, maximum: int) -> Iterator[Problem]:
    """Yield the problems of a pair of limits."""
    low, high = f"{argument}.min_capacity", f"{argument}.max_capacity"
    problems = [
        *check(ranges.MIN_COUNT, minimum, argument=low),
        *check(ranges.MAX_COUNT, maximum, argument=high),
    ]
    yield from problems or check(rules.check_count_limits, minimum, maximum, argument=high)
