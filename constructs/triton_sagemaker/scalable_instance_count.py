"""The scaling of a variant."""

from collections.abc import Iterator
from typing import Unpack

from aws_cdk import IResolvable, TimeZone
from aws_cdk import aws_applicationautoscaling as scaling
from constructs import Construct

from platform_facts.rules import scaling as rules
from platform_facts.rules.ranges import (
    CONCURRENCY,
    CPU_PERCENT,
    GPU_PERCENT,
    MAX_RPS,
    SAFETY_FACTOR,
)
from triton_sagemaker.endpoint_metrics import CPU_UTILIZATION, GPU_UTILIZATION
from triton_sagemaker.problems import Problem, inside, of_rules
from triton_sagemaker.scaling_checks import initial_count, limits, within
from triton_sagemaker.target_tracking import (
    REQUESTS,
    UTILIZATION,
    Cooldowns,
    in_seconds,
    specification,
)
from triton_sagemaker.variant import Variant


class ScalableInstanceCount(Construct):
    """The number of instances of one variant, between two limits.

    Made by `auto_scale_instance_count`, and called as in aws-sagemaker-alpha. Of several metrics,
    the one that needs most instances decides. Scaling begins after `after` is deployed, and ends
    before it is removed.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        after: Construct,
        endpoint_name: str,
        variant: Variant,
        min_capacity: int,
        max_capacity: int,
    ) -> None:
        super().__init__(scope, construct_id)
        self._endpoint_name, self._variant = endpoint_name, variant
        self._problems = [
            *limits("auto_scale_instance_count", min_capacity, max_capacity),
            *initial_count(variant.instances.initial_count, min_capacity, max_capacity),
        ]
        self._metrics = set[str]()
        self._actions = list[IResolvable | scaling.CfnScalableTarget.ScheduledActionProperty]()
        self._target = scaling.CfnScalableTarget(
            self,
            "Target",
            max_capacity=max_capacity,
            min_capacity=min_capacity,
            resource_id=f"endpoint/{endpoint_name}/variant/{variant.name}",
            scalable_dimension="sagemaker:variant:DesiredInstanceCount",
            service_namespace="sagemaker",
        )
        self._target.node.add_dependency(after)
        self._target_id = self._target.ref

    def scale_on_invocations(
        self,
        construct_id: str,
        *,
        max_requests_per_second: float,
        safety_factor: float = 0.5,
        **cooldowns: Unpack[Cooldowns],
    ) -> None:
        """Keep each instance at `safety_factor` of the requests that it sustained in a load test.

        Source: developer guide, endpoint-scaling-loadtest.
        """
        where, metric = "scale_on_invocations", "SageMakerVariantInvocationsPerInstance"
        self._problems += within(
            MAX_RPS, f"{where}.max_requests_per_second", max_requests_per_second
        )
        self._problems += within(SAFETY_FACTOR, f"{where}.safety_factor", safety_factor)
        per_minute = max_requests_per_second * safety_factor * 60
        self._track(construct_id, where, metric, per_minute, {**REQUESTS, **cooldowns})

    def scale_on_concurrency(
        self,
        construct_id: str,
        *,
        requests_per_instance: float,
        **cooldowns: Unpack[Cooldowns],
    ) -> None:
        """Keep the requests that each instance works on at once at `requests_per_instance`.

        Measured every ten seconds, and so the fastest to react. For single-model hosting: "multi-
        model endpoint metrics are available at one-minute granularity", and no metric of
        concurrency is among them (developer guide, multi-model-endpoints-autoscaling).
        """
        where = "scale_on_concurrency"
        metric = "SageMakerVariantConcurrentRequestsPerModelHighResolution"
        self._problems += within(
            CONCURRENCY, f"{where}.requests_per_instance", requests_per_instance
        )
        if not self._variant.hosting.measures_concurrency:
            self._problems += of_rules(
                rules.concurrency_of_one_model(requests_per_instance), where=where
            )
        cooldowns = {**REQUESTS, **cooldowns}
        self._track(construct_id, where, metric, requests_per_instance, cooldowns)

    def scale_on_gpu_utilization(
        self,
        construct_id: str,
        *,
        target_utilization_percent: float,
        **cooldowns: Unpack[Cooldowns],
    ) -> None:
        """Keep each GPU at `target_utilization_percent`; the metric is their sum."""
        where, instance_type = "scale_on_gpu_utilization", self._variant.instances.instance_type
        percent, count = target_utilization_percent, instance_type.gpu_count
        self._problems += of_rules(rules.utilization_of_a_gpu(percent, instance_type), where=where)
        self._problems += within(GPU_PERCENT, f"{where}.target_utilization_percent", percent)
        self._utilization(construct_id, where, GPU_UTILIZATION, percent, count, cooldowns)

    def scale_on_cpu_utilization(
        self,
        construct_id: str,
        *,
        target_utilization_percent: float,
        **cooldowns: Unpack[Cooldowns],
    ) -> None:
        """Keep each vCPU at `target_utilization_percent`; the metric is their sum."""
        where, count = "scale_on_cpu_utilization", self._variant.instances.instance_type.vcpus
        percent = target_utilization_percent
        self._problems += within(CPU_PERCENT, f"{where}.target_utilization_percent", percent)
        self._utilization(construct_id, where, CPU_UTILIZATION, percent, count, cooldowns)

    def scale_on_schedule(
        self,
        construct_id: str,
        *,
        schedule: scaling.Schedule,
        min_capacity: int,
        max_capacity: int,
        time_zone: TimeZone | None = None,
    ) -> None:
        """Change the limits from a time on; without `time_zone`, of UTC."""
        self._problems += limits(
            f"scale_on_schedule.{construct_id}",
            min_capacity,
            max_capacity,
            ("scaling", "schedules", construct_id),
        )
        self._actions.append(
            scaling.CfnScalableTarget.ScheduledActionProperty(
                scheduled_action_name=construct_id,
                schedule=schedule.expression_string,
                timezone=time_zone.timezone_name if time_zone else None,
                scalable_target_action=scaling.CfnScalableTarget.ScalableTargetActionProperty(
                    min_capacity=min_capacity, max_capacity=max_capacity
                ),
            )
        )
        self._target.scheduled_actions = self._actions

    def problems(self) -> Iterator[Problem]:
        """Yield what Application Auto Scaling would refuse, or never act on."""
        problems = list(self._problems)
        if not self._metrics and not self._actions:
            what = "nothing to scale on: call a scale_on_*"
            problems.append(Problem("auto_scale_instance_count", what))
        yield from inside(f"variants.{self._variant.name}", problems)

    def _add_problem(self, where: str, what: str) -> None:
        self._problems.append(Problem(where, what))

    def _utilization(
        self,
        construct_id: str,
        where: str,
        metric: str,
        percentage: float,
        count: int,
        cooldowns: Cooldowns,
    ) -> None:
        cooldowns = {**UTILIZATION, **cooldowns}
        self._track(construct_id, where, metric, percentage * count, cooldowns)

    def _track(
        self, construct_id: str, where: str, metric: str, value: float, cooldowns: Cooldowns
    ) -> None:
        """Make a policy.

        It is L1 because a policy of the CDK's L2 has another logical ID than the one of a deployed
        endpoint, and cannot replace it: "Only one TargetTrackingScaling policy for a given metric
        specification is allowed" (PutScalingPolicy, in hashicorp/terraform-provider-aws#24282).
        """
        if metric in self._metrics:
            self._add_problem(where, "called twice: AWS takes one policy for each metric")
        self._metrics.add(metric)
        name = self._variant.name
        scaling.CfnScalingPolicy(
            self,
            construct_id,
            policy_name=f"endpoint-{self._endpoint_name}-variant-{name}-{construct_id}",
            policy_type="TargetTrackingScaling",
            scaling_target_id=self._target_id,
            target_tracking_scaling_policy_configuration=(
                scaling.CfnScalingPolicy.TargetTrackingScalingPolicyConfigurationProperty(
                    target_value=value,
                    **in_seconds(**cooldowns),
                    **specification(metric, self._endpoint_name, name),
                )
            ),
        )
