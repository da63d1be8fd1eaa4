"""Values of a stage as arguments of the constructs."""

from typing import Any, get_args

from aws_cdk import Duration, Size, TimeZone
from aws_cdk import aws_logs as logs
from aws_cdk.aws_applicationautoscaling import Schedule

from stages.schema.alarms import AlarmsConfig
from stages.schema.endpoint import EndpointConfig
from stages.schema.scaling import ScalingConfig
from stages.schema.server import ServerConfig
from stages.schema.stage import RetentionDays
from stages.schema.update import UpdateConfig
from triton_sagemaker import (
    AlarmThresholds,
    AllAtOnce,
    Canary,
    CaptureBucket,
    DataCapture,
    Linear,
    PublishedMetrics,
    Rolling,
    ScalableInstanceCount,
    ServerOptions,
    Severity,
)


def server_options(settings: ServerConfig, metrics: PublishedMetrics | None) -> ServerOptions:
    """Return the options of a container's server, which publishes `metrics`."""
    default, growth = settings.python_shm_default_mib, settings.python_shm_growth_mib
    same = settings.model_dump(
        exclude={"log_verbose", "python_shm_default_mib", "python_shm_growth_mib"}
    )
    return ServerOptions(
        **same,
        log_verbose=settings.log_verbose or False,
        publish_metrics=metrics,
        python_shm_default=Size.mebibytes(default) if default else None,
        python_shm_growth=Size.mebibytes(growth) if growth else None,
    )


def scale(count: ScalableInstanceCount, settings: ScalingConfig) -> None:
    """Scale a variant as a stage asks; the IDs are part of what is deployed."""
    seconds = {
        "scale_in_cooldown": settings.scale_in_cooldown_seconds,
        "scale_out_cooldown": settings.scale_out_cooldown_seconds,
    }
    cooldowns: Any = {
        name: Duration.seconds(value) for name, value in seconds.items() if value is not None
    }
    if (rps := settings.max_rps) is not None:
        count.scale_on_invocations("Invocations", max_requests_per_second=rps, **cooldowns)
    if (requests := settings.concurrency) is not None:
        count.scale_on_concurrency("Concurrency", requests_per_instance=requests, **cooldowns)
    if (percent := settings.gpu_percent) is not None:
        count.scale_on_gpu_utilization("Gpu", target_utilization_percent=percent, **cooldowns)
    if (percent := settings.cpu_percent) is not None:
        count.scale_on_cpu_utilization("Cpu", target_utilization_percent=percent, **cooldowns)
    for name, schedule in settings.schedules.items():
        count.scale_on_schedule(
            name,
            schedule=Schedule.expression(schedule.at),
            time_zone=TimeZone.of(schedule.timezone),
            min_capacity=schedule.min_count,
            max_capacity=schedule.max_count,
        )


def thresholds(settings: AlarmsConfig) -> AlarmThresholds:
    """Return the thresholds of alarms."""
    chosen = settings.model_dump(exclude_none=True)
    return AlarmThresholds(
        **{
            name: {Severity(severity): value for severity, value in levels.items()}
            for name, levels in chosen.items()
        }
    )


def update(settings: UpdateConfig) -> AllAtOnce | Canary | Linear | Rolling:
    """Return how the endpoint moves to a new configuration."""
    percent, wait = settings.percent, Duration.seconds(settings.wait_seconds)
    match settings.strategy:
        case "all-at-once":
            return AllAtOnce()
        case "canary":
            return Canary(percent=percent, wait=wait)
        case "linear":
            return Linear(percent=percent, wait=wait)
        case "rolling":
            return Rolling(percent=percent, wait=wait)


def data_capture(
    config: EndpointConfig, captured: CaptureBucket | None, *, prefix: str
) -> DataCapture | None:
    """Return what is recorded of requests, below `prefix` of the stage's bucket."""
    settings = config.data_capture
    if settings is None or captured is None:
        return None
    return DataCapture(
        bucket=captured,
        percent=settings.percent,
        prefix=prefix,
        requests=settings.requests,
        responses=settings.responses,
    )


RETENTION = dict(zip(get_args(RetentionDays), logs.RetentionDays, strict=False))
"""The stage's `log_retention_days`, as the CDK calls them: both in their order, and forever."""
