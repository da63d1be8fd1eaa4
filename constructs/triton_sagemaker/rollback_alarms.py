"""The alarms that roll an update back, where the app gives none."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from triton_sagemaker.endpoint_checks import MAX_ROLLBACK_ALARMS
from triton_sagemaker.endpoint_metrics import VariantMetrics
from triton_sagemaker.variant import Variant

SERVER_ERROR_RATE = 0.05
"""Share of 5xx answers of new instances, over a minute, that rolls an update back."""


class _Rule(NamedTuple):
    name: str
    reason: str
    metric: cloudwatch.Metric
    threshold: float
    minutes: tuple[int, int]


def default_alarms(
    scope: Construct,
    *,
    endpoint_name: str,
    config_name: str,
    variants: Sequence[Variant],
    model_error_rate: float,
) -> list[cloudwatch.Alarm]:
    """Return alarms on the new instances alone, each of this configuration alone.

    Old instances that fail must not stop the update that mends them.

    An alarm that is changed keeps its state ("its state is left unchanged": API reference,
    PutMetricAlarm), and one that was in ALARM would roll back the update that mends it. With the
    configuration's name in its own, CloudFormation replaces it: the new one exists before the
    endpoint is updated, the old one until the update cannot be rolled back any more.
    """
    return [
        cloudwatch.Alarm(
            scope,
            f"Rollback-{variant.name}-{rule.name}",
            alarm_name=f"{endpoint_name}-{variant.name}-{rule.name}-{config_name}",
            alarm_description=f"Rolls an update of {endpoint_name} back: {rule.reason}",
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            datapoints_to_alarm=rule.minutes[0],
            evaluation_periods=rule.minutes[1],
            metric=rule.metric,
            threshold=rule.threshold,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        for variant in variants
        for rule in _rules(
            VariantMetrics(endpoint_name, variant.name, config_name),
            model_error_rate,
            both=2 * len(variants) <= MAX_ROLLBACK_ALARMS,
        )
    ]


def _rules(metrics: VariantMetrics, model_error_rate: float, *, both: bool) -> Iterator[_Rule]:
    name = metrics.variant_name
    if both:
        yield _Rule(
            "ServerErrors",
            f"variant {name} answers with 5xx",
            metrics.metric_server_error_rate(),
            SERVER_ERROR_RATE,
            minutes=(1, 1),
        )
    # In one minute at night, one caller's mistake may be all that is asked.
    yield _Rule(
        "ModelErrors",
        f"containers of variant {name} fail requests",
        metrics.metric_model_error_rate(),
        model_error_rate,
        minutes=(2, 3),
    )
