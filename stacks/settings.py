"""What a stage says of an endpoint, as the constructs take it."""

from aws_cdk import Duration, Size
from aws_cdk import aws_logs as logs

from stages import AlarmsConfig, ScalingConfig, ScheduleConfig, ServerConfig, UpdateConfig
from triton_sagemaker import (
    AlarmThresholds,
    AllAtOnce,
    Canary,
    ConcurrencyTarget,
    Cooldowns,
    CpuTarget,
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


def scaling_targets(settings: ScalingConfig) -> list[Target]:
    """Return what the number of instances follows."""
    found: list[Target] = []
    if settings.max_rps is not None:
        found.append(
            InvocationsTarget.for_load(
                max_rps=settings.max_rps, cooldowns=_cooldowns(settings, InvocationsTarget)
            )
        )
    if settings.concurrency is not None:
        found.append(
            ConcurrencyTarget(
                per_instance=settings.concurrency,
                cooldowns=_cooldowns(settings, ConcurrencyTarget),
            )
        )
    if settings.gpu_percent is not None:
        found.append(
            GpuTarget(percent=settings.gpu_percent, cooldowns=_cooldowns(settings, GpuTarget))
        )
    if settings.cpu_percent is not None:
        found.append(
            CpuTarget(percent=settings.cpu_percent, cooldowns=_cooldowns(settings, CpuTarget))
        )
    return found


def _cooldowns(settings: ScalingConfig, target: type[Target]) -> Cooldowns:
    """Return the stage's cooldowns, and where it has none, those of a kind of target."""
    default: Cooldowns = target.cooldowns
    scale_in, scale_out = settings.scale_in_cooldown_seconds, settings.scale_out_cooldown_seconds
    return Cooldowns(
        scale_in=default.scale_in if scale_in is None else Duration.seconds(scale_in),
        scale_out=default.scale_out if scale_out is None else Duration.seconds(scale_out),
    )


def scheduled(schedules: dict[str, ScheduleConfig]) -> list[ScheduledCapacity]:
    """Return the limits from a time on."""
    return [
        ScheduledCapacity(
            name=name,
            schedule=it.at,
            timezone=it.timezone,
            min_count=it.min_count,
            max_count=it.max_count,
        )
        for name, it in schedules.items()
    ]


def thresholds(settings: AlarmsConfig) -> AlarmThresholds:
    """Return when somebody is told."""
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


RETENTION = {
    1: logs.RetentionDays.ONE_DAY,
    3: logs.RetentionDays.THREE_DAYS,
    5: logs.RetentionDays.FIVE_DAYS,
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    60: logs.RetentionDays.TWO_MONTHS,
    90: logs.RetentionDays.THREE_MONTHS,
    120: logs.RetentionDays.FOUR_MONTHS,
    150: logs.RetentionDays.FIVE_MONTHS,
    180: logs.RetentionDays.SIX_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
    400: logs.RetentionDays.THIRTEEN_MONTHS,
    545: logs.RetentionDays.EIGHTEEN_MONTHS,
    731: logs.RetentionDays.TWO_YEARS,
    1096: logs.RetentionDays.THREE_YEARS,
    1827: logs.RetentionDays.FIVE_YEARS,
    2192: logs.RetentionDays.SIX_YEARS,
    2557: logs.RetentionDays.SEVEN_YEARS,
    2922: logs.RetentionDays.EIGHT_YEARS,
    3288: logs.RetentionDays.NINE_YEARS,
    3653: logs.RetentionDays.TEN_YEARS,
}
"""The stage's `log_retention_days`, as the CDK calls them."""
