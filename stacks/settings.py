"""Values of a stage as arguments of the constructs."""

from typing import Any, get_args

from aws_cdk import Duration, Size
from aws_cdk import aws_logs as logs

from stages import (
    AlarmsConfig,
    EndpointConfig,
    ScalingConfig,
    ScheduleConfig,
    ServerConfig,
    UpdateConfig,
)
from stages.schema.stage import RetentionDays
from triton_sagemaker import (
    AlarmThresholds,
    AllAtOnce,
    Canary,
    CaptureBucket,
    ConcurrencyTarget,
    Cooldowns,
    CpuTarget,
    DataCapture,
    GpuTarget,
    InvocationsTarget,
    Linear,
    PublishedMetrics,
    Rolling,
    ScheduledCapacity,
    ServerOptions,
    Severity,
    Target,
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


def scaling_arguments(settings: ScalingConfig) -> dict[str, Any]:
    """Return the limits, schedules and target-tracking metrics of `TritonEndpoint.auto_scale`."""
    targets: list[Target] = []
    if settings.max_rps is not None:
        cooldowns = _cooldowns(settings, InvocationsTarget)
        targets.append(InvocationsTarget.for_load(max_rps=settings.max_rps, cooldowns=cooldowns))
    for value, kind, argument in (
        (settings.concurrency, ConcurrencyTarget, "per_instance"),
        (settings.gpu_percent, GpuTarget, "percent"),
        (settings.cpu_percent, CpuTarget, "percent"),
    ):
        if value is not None:
            targets.append(kind(**{argument: value}, cooldowns=_cooldowns(settings, kind)))
    return {
        "min_count": settings.min_count,
        "max_count": settings.max_count,
        "schedules": _scheduled(settings.schedules),
        "targets": targets,
    }


def _cooldowns(settings: ScalingConfig, target: type[Target]) -> Cooldowns:
    """Return the stage's cooldowns, and where it has none, those of a kind of target."""
    default: Cooldowns = target.cooldowns
    scale_in, scale_out = settings.scale_in_cooldown_seconds, settings.scale_out_cooldown_seconds
    return Cooldowns(
        scale_in=default.scale_in if scale_in is None else Duration.seconds(scale_in),
        scale_out=default.scale_out if scale_out is None else Duration.seconds(scale_out),
    )


def _scheduled(schedules: dict[str, ScheduleConfig]) -> list[ScheduledCapacity]:
    """Return the limits from a time on."""
    return [
        ScheduledCapacity(
            name=name,
            schedule=capacity.at,
            timezone=capacity.timezone,
            min_count=capacity.min_count,
            max_count=capacity.max_count,
        )
        for name, capacity in schedules.items()
    ]


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
        bucket=captured.bucket,
        encryption_key=captured.key,
        percent=settings.percent,
        prefix=prefix,
        requests=settings.requests,
        responses=settings.responses,
    )


RETENTION = dict(zip(get_args(RetentionDays), logs.RetentionDays, strict=False))
"""The stage's `log_retention_days`, as the CDK calls them: both in their order, and forever."""
