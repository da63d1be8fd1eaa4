"""CloudWatch alarms that roll back an update."""

from collections.abc import Iterator, Sequence

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from triton_sagemaker.chart import ABOVE
from triton_sagemaker.endpoint_metrics import EndpointMetrics

MAX_ALARMS = 10
"""SageMaker API reference, AutoRollbackConfig."""
SERVER_ERROR_RATE = 0.05
"""Share of 5xx responses of new instances in one minute that rolls back an update, 0 to 1."""


def rollback_alarms(
    scope: Construct,
    *,
    endpoint_name: str,
    config_name: str,
    variants: Sequence[str],
    model_error_rate: float,
) -> Iterator[cloudwatch.Alarm]:
    """Yield the rollback alarms of each variant; they monitor only instances of `config_name`.

    Errors of old instances must not roll back the update that fixes them.

    An updated alarm keeps its state ("its state is left unchanged": API reference, PutMetricAlarm),
    and an alarm in state ALARM would roll back the update that fixes it. Therefore the name of an
    alarm contains the configuration's name, and CloudFormation replaces the alarm: the new alarm
    exists before the endpoint is updated, the old one until no rollback is possible.

    Variants get only the second alarm if there would be more than `MAX_ALARMS`.
    """
    for variant in variants:
        metrics = EndpointMetrics(
            endpoint_name=endpoint_name, variant_name=variant, endpoint_config_name=config_name
        )
        yield from part_alarms(
            scope,
            metrics,
            version=config_name,
            model_error_rate=model_error_rate,
            server_errors=2 * len(variants) <= MAX_ALARMS,
        )


def part_alarms(
    scope: Construct,
    metrics: EndpointMetrics,
    *,
    version: str,
    model_error_rate: float,
    server_errors: bool = True,
) -> Iterator[cloudwatch.Alarm]:
    """Yield the alarms of a variant or component; `version` changes with every update."""
    part = metrics.part
    name = part.partition(" ")[2]
    server, model = metrics.metric_server_error_rate(), metrics.metric_model_error_rate()
    rules = {
        "ServerErrors": (f"{part} answers with 5xx", server, SERVER_ERROR_RATE, 1, 1),
        # With little traffic, one client error may be the only request of a minute.
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
