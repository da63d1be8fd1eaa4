"""Alarms that roll an update back."""

from collections.abc import Iterator, Sequence

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from triton_sagemaker.chart import ABOVE
from triton_sagemaker.endpoint_metrics import EndpointMetrics

MOST_ALARMS = 10
"""Maximum number of rollback alarms (API reference, AutoRollbackConfig)."""
SERVER_ERROR_RATE = 0.05
"""Share of 5xx responses of new instances in a minute that rolls an update back."""


def rollback_alarms(
    scope: Construct,
    *,
    endpoint_name: str,
    config_name: str,
    variants: Sequence[str],
    model_error_rate: float,
) -> Iterator[cloudwatch.Alarm]:
    """Yield alarms that only monitor the instances of this configuration, which are the new ones.

    Errors of old instances must not roll back the update that corrects them.

    A changed alarm keeps its state ("its state is left unchanged": API reference, PutMetricAlarm),
    so that an alarm in state ALARM would roll back the correcting update. Therefore the name of an
    alarm contains the name of the configuration, and CloudFormation replaces it: the new alarm
    exists before the endpoint is updated, the old one until the update cannot be rolled back.
    """
    for variant in variants:
        metrics = EndpointMetrics(
            endpoint_name=endpoint_name, variant_name=variant, endpoint_config_name=config_name
        )
        few = 2 * len(variants) <= MOST_ALARMS
        yield from part_alarms(
            scope,
            metrics,
            version=config_name,
            model_error_rate=model_error_rate,
            server_errors=few,
        )


def part_alarms(
    scope: Construct,
    metrics: EndpointMetrics,
    *,
    version: str,
    model_error_rate: float,
    server_errors: bool = True,
) -> Iterator[cloudwatch.Alarm]:
    """Yield the alarms of a variant or a component; `version` must change with each update."""
    part = metrics.part
    name = part.partition(" ")[2]
    server, model = metrics.metric_server_error_rate(), metrics.metric_model_error_rate()
    rules = {
        "ServerErrors": (f"{part} answers with 5xx", server, SERVER_ERROR_RATE, 1, 1),
        # At night, an invalid request may be the only request of a minute.
        "ModelErrors": (f"containers of {part} fail requests", model, model_error_rate, 2, 3),
    }
    if not server_errors:
        del rules["ServerErrors"]
    for kind, (reason, metric, threshold, datapoints, minutes) in rules.items():
        yield cloudwatch.Alarm(
            scope,
            f"Rollback-{name}-{kind}",
            alarm_name=f"{metrics.endpoint_name}-{name}-{kind}-{version}",
            alarm_description=f"Rolls an update of {metrics.endpoint_name} back: {reason}",
            comparison_operator=ABOVE,
            datapoints_to_alarm=datapoints,
            evaluation_periods=minutes,
            metric=metric,
            threshold=threshold,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
