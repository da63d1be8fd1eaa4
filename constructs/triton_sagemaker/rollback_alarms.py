"""Alarms that roll an update back."""

from collections.abc import Iterator, Sequence

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from platform_facts.rules.monitoring import (
    MAX_ROLLBACK_ALARMS,
    ROLLBACK_EVALUATIONS,
    SERVER_ERROR_RATE,
)
from triton_sagemaker.chart import ABOVE, ALARMS
from triton_sagemaker.endpoint_metrics import EndpointMetrics


def variant_rollback_alarms(
    scope: Construct,
    *,
    endpoint_name: str,
    config_name: str,
    variants: Sequence[str],
    model_error_rate: float,
) -> Iterator[cloudwatch.Alarm]:
    """Yield the alarms of all variants, which only monitor instances of this configuration.

    Errors of old instances must not roll back the update that corrects them.

    A changed alarm keeps its state ("its state is left unchanged": API reference, PutMetricAlarm),
    so that an alarm in state ALARM would roll back the correcting update. Therefore the name of an
    alarm contains the name of the configuration, and CloudFormation replaces the alarm: it creates
    the new one before the update, and deletes the old one when the update cannot be rolled back.
    """
    for variant in variants:
        metrics = EndpointMetrics(
            endpoint_name=endpoint_name, variant_name=variant, endpoint_config_name=config_name
        )
        yield from rollback_alarms(
            scope,
            metrics,
            version=config_name,
            model_error_rate=model_error_rate,
            server_errors=2 * len(variants) <= MAX_ROLLBACK_ALARMS,
        )


def rollback_alarms(
    scope: Construct,
    metrics: EndpointMetrics,
    *,
    version: str,
    model_error_rate: float,
    server_errors: bool = True,
) -> Iterator[cloudwatch.Alarm]:
    """Yield the alarms of a variant or a component; `version` must change with each update.

    `server_errors` adds an alarm for 5xx responses.
    """
    label = metrics.label
    alarms = {
        "server_error_rate": (f"{label} answers with 5xx", SERVER_ERROR_RATE),
        "model_error_rate": (f"containers of {label} fail requests", model_error_rate),
    }
    if not server_errors:
        del alarms["server_error_rate"]
    for rate, (reason, threshold) in alarms.items():
        (kind, _), evaluation = ALARMS[rate], ROLLBACK_EVALUATIONS[rate]
        yield cloudwatch.Alarm(
            scope,
            f"Rollback-{metrics.display_name}-{kind}",
            alarm_name=f"{metrics.endpoint_name}-{metrics.display_name}-{kind}-{version}",
            alarm_description=f"Rolls an update of {metrics.endpoint_name} back: {reason}",
            comparison_operator=ABOVE,
            datapoints_to_alarm=evaluation.datapoints,
            evaluation_periods=evaluation.periods,
            metric=metrics.alarmed_metric(rate),
            threshold=threshold,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
