"""The alarms that roll an update back, where the app gives none."""

from collections.abc import Sequence

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from triton_sagemaker.endpoint_checks import MAX_ROLLBACK_ALARMS
from triton_sagemaker.endpoint_metrics import VariantMetrics
from triton_sagemaker.variant import Variant

SERVER_ERROR_RATE = 0.05
"""Share of 5xx answers of new instances, over a minute, that rolls an update back."""


def default_alarms(
    scope: Construct,
    *,
    endpoint_name: str,
    config_name: str,
    variants: Sequence[Variant],
    model_error_rate: float,
) -> list[cloudwatch.Alarm]:
    """Return alarms on the new instances alone.

    Old instances that fail must not stop the update that mends them.
    """
    alarms = list[cloudwatch.Alarm]()
    both = 2 * len(variants) <= MAX_ROLLBACK_ALARMS
    for variant in variants:
        metrics = VariantMetrics(endpoint_name, variant.name, config_name)
        if both:
            alarms.append(
                _alarm(
                    scope,
                    metrics,
                    "ServerErrors",
                    f"variant {variant.name} answers with 5xx",
                    metrics.metric_server_error_rate(),
                    threshold=SERVER_ERROR_RATE,
                    minutes=(1, 1),
                )
            )
        # In one minute at night, one caller's mistake may be all that is asked.
        alarms.append(
            _alarm(
                scope,
                metrics,
                "ModelErrors",
                f"containers of variant {variant.name} fail requests",
                metrics.metric_model_error_rate(),
                threshold=model_error_rate,
                minutes=(2, 3),
            )
        )
    return alarms


def _alarm(
    scope: Construct,
    metrics: VariantMetrics,
    name: str,
    reason: str,
    metric: cloudwatch.Metric,
    *,
    threshold: float,
    minutes: tuple[int, int],
) -> cloudwatch.Alarm:
    """Return an alarm of this configuration alone, under a name that ends with its name.

    An alarm that is changed keeps its state ("its state is left unchanged": API reference,
    PutMetricAlarm), and one that was in ALARM would roll back the update that mends it. With
    the name CloudFormation replaces it: the new one exists before the endpoint is updated, the
    old one until the update cannot be rolled back any more.
    """
    bad, of = minutes
    name = f"{metrics.variant_name}-{name}"
    return cloudwatch.Alarm(
        scope,
        f"Rollback-{name}",
        alarm_name=f"{metrics.endpoint_name}-{name}-{metrics.endpoint_config_name}",
        alarm_description=f"Rolls an update of {metrics.endpoint_name} back: {reason}",
        comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        datapoints_to_alarm=bad,
        evaluation_periods=of,
        metric=metric,
        threshold=threshold,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
    )
