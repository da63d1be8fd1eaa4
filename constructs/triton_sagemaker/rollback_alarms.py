"""Alarms that roll an update back."""

from collections.abc import Iterator, Sequence

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from triton_sagemaker.chart import ABOVE
from triton_sagemaker.endpoint_metrics import EndpointMetrics

MAX_ROLLBACK_ALARMS = 10
"""Maximum number of alarms of an update (API reference, AutoRollbackConfig)."""
SERVER_ERROR_RATE = 0.05
"""Share of 5xx responses of new instances in a minute that rolls an update back."""


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
    server, model = map(metrics.alarmed_metric, ("server_error_rate", "model_error_rate"))
    alarms = {
        "ServerErrors": (f"{label} answers with 5xx", server, SERVER_ERROR_RATE, 1, 1),
        # At night, an invalid request may be the only request of a minute.
        "ModelErrors": (f"containers of {label} fail requests", model, model_error_rate, 2, 3),
    }
    if not server_errors:
        del alarms["ServerErrors"]
    for kind, (reason, metric, threshold, datapoints, periods) in alarms.items():
        yield cloudwatch.Alarm(
            scope,
            f"Rollback-{metrics.display_name}-{kind}",
            alarm_name=f"{metrics.endpoint_name}-{metrics.display_name}-{kind}-{version}",
            alarm_description=f"Rolls an update of {metrics.endpoint_name} back: {reason}",
            comparison_operator=ABOVE,
            datapoints_to_alarm=datapoints,
            evaluation_periods=periods,
            metric=metric,
            threshold=threshold,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
