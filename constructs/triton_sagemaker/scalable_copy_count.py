"""The scaling of an inference component."""

from collections.abc import Iterable
from functools import partial
from typing import Unpack

from aws_cdk import aws_applicationautoscaling as scaling
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from platform_facts.rules import components as rules
from platform_facts.rules.scaling import SCALING_TARGET_SHARE
from triton_sagemaker.chart import ABOVE
from triton_sagemaker.component_metrics import ComponentMetrics
from triton_sagemaker.problems import Problem, check
from triton_sagemaker.scalable_count import Cooldowns, ScalableCount

Cfn = scaling.CfnScalingPolicy


class ScalableCopyCount(ScalableCount):
    """Scaling of the number of copies of one component; see `auto_scale_copy_count`.

    With `min_capacity` 0, a request without a running copy is rejected, and an alarm on rejected
    requests then adds a copy.
    """

    scalable_dimension = "sagemaker:inference-component:DesiredCopyCount"
    method = "auto_scale_copy_count"

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        after: Construct,
        metrics: ComponentMetrics,
        min_capacity: int,
        max_capacity: int,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            after=after,
            resource_id=f"inference-component/{metrics.component_name}",
            dimensions=metrics.dimensions,
            min_capacity=min_capacity,
            max_capacity=max_capacity,
            parent_argument=f"components.{metrics.model}",
        )
        self._checks.append(partial(_limit_problems, self.method, min_capacity, max_capacity))
        if min_capacity == 0:
            self._add_copy_on_rejected_request(metrics)

    def scale_on_invocations(
        self, construct_id: str, *, max_requests_per_second: float, **cooldowns: Unpack[Cooldowns]
    ) -> None:
        """Keep each copy at half of `max_requests_per_second`, as sustained in a load test."""
        argument, metric = "scale_on_invocations", "SageMakerInferenceComponentInvocationsPerCopy"
        self._checks.append(
            partial(check, rules.COPY_RPS, max_requests_per_second, argument=argument)
        )
        per_minute = max_requests_per_second * SCALING_TARGET_SHARE * 60
        self._track(construct_id, argument, metric, per_minute, cooldowns)

    def scale_on_concurrency(
        self, construct_id: str, *, requests_per_copy: float, **cooldowns: Unpack[Cooldowns]
    ) -> None:
        """Keep the number of requests in progress in each copy; measured every ten seconds."""
        argument = "scale_on_concurrency"
        metric = "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution"
        self._checks.append(
            partial(check, rules.COPY_CONCURRENCY, requests_per_copy, argument=argument)
        )
        self._track(construct_id, argument, metric, requests_per_copy, cooldowns)

    def _add_copy_on_rejected_request(self, metrics: ComponentMetrics) -> None:
        """Add a copy after a rejected request, because target tracking does not start from zero.

        Source: developer guide, endpoint-auto-scaling-zero-instances, with an alarm for more than
        one request; AWS's samples use one or more (aws-samples/sagemaker-genai-hosting-examples).
        """
        policy = Cfn(
            self,
            "Wake",
            policy_name=f"{self._name}-Wake".replace("/", "-"),
            policy_type="StepScaling",
            scaling_target_id=self._target_id,
            step_scaling_policy_configuration=Cfn.StepScalingPolicyConfigurationProperty(
                adjustment_type="ChangeInCapacity",
                cooldown=60,
                metric_aggregation_type="Maximum",
                step_adjustments=[
                    Cfn.StepAdjustmentProperty(metric_interval_lower_bound=0, scaling_adjustment=1)
                ],
            ),
        )
        alarm = cloudwatch.Alarm(
            self,
            "WakeAlarm",
            alarm_description=f"Adds a copy of {metrics.component_name} after a rejected request",
            comparison_operator=ABOVE,
            evaluation_periods=1,
            metric=metrics.rejected_requests,
            threshold=1,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        resource = alarm.node.default_child
        assert isinstance(resource, cloudwatch.CfnAlarm)
        resource.alarm_actions = [policy.ref]


def _limit_problems(argument: str, minimum: int, maximum: int) -> Iterable[Problem]:
    problems = [
        *check(rules.COPIES_MIN, minimum, argument=argument),
        *check(rules.COPIES_MAX, maximum, argument=argument),
    ]
    return problems or check(rules.check_copy_limits, minimum, maximum, argument=argument)
