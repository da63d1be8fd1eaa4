"""Conversion of stage settings to arguments of the constructs."""

from typing import Any, get_args

from aws_cdk import Duration, Size, TimeZone
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk.aws_applicationautoscaling import Schedule

from platform_facts.rules.scaling import UTILIZATIONS
from stages.schema.alarms import AlarmsConfig
from stages.schema.components import CopiesConfig
from stages.schema.endpoint import EndpointConfig
from stages.schema.scaling import ScalingConfig
from stages.schema.server import ServerConfig
from stages.schema.stage import RetentionDays
from stages.schema.update import UpdateConfig
from triton_sagemaker import (
    AlarmThresholds,
    AllAtOnce,
    Canary,
    DataCapture,
    EndpointComponent,
    Linear,
    PublishedMetrics,
    Rolling,
    ScalableInstanceCount,
    ServerOptions,
)


def server_options(settings: ServerConfig, metrics: PublishedMetrics | None) -> ServerOptions:
    """Return the server options of a container."""
    default, growth = settings.python_shm_default_mib, settings.python_shm_growth_mib
    options = settings.model_dump(
        exclude={"log_verbose", "python_shm_default_mib", "python_shm_growth_mib"}
    )
    return ServerOptions(
        **options,
        log_verbose=settings.log_verbose or False,
        publish_metrics=metrics,
        python_shm_default=Size.mebibytes(default) if default else None,
        python_shm_growth=Size.mebibytes(growth) if growth else None,
    )


def add_copy_scaling(component: EndpointComponent, settings: CopiesConfig) -> None:
    """Add the scaling of a component, unless its copy count is fixed."""
    if settings.min == settings.max:
        return
    count = component.auto_scale_copy_count(min_capacity=settings.min, max_capacity=settings.max)
    cooldowns = _cooldowns(settings)
    if (rps := settings.max_rps) is not None:
        count.scale_on_invocations("Invocations", max_requests_per_second=rps, **cooldowns)
    if (requests := settings.concurrency) is not None:
        count.scale_on_concurrency("Concurrency", requests_per_copy=requests, **cooldowns)


def add_instance_scaling(count: ScalableInstanceCount, settings: ScalingConfig) -> None:
    """Add the scaling of a variant. The construct IDs determine deployed logical IDs."""
    cooldowns = _cooldowns(settings)
    if (rps := settings.max_rps) is not None:
        count.scale_on_invocations("Invocations", max_requests_per_second=rps, **cooldowns)
    if (requests := settings.concurrency) is not None:
        count.scale_on_concurrency("Concurrency", requests_per_instance=requests, **cooldowns)
    for key, utilization in UTILIZATIONS.items():
        if (percent := settings.targets.get(key)) is not None:
            count.scale_on_utilization(
                utilization.policy, key, target_utilization_percent=percent, **cooldowns
            )
    for name, schedule in settings.schedules.items():
        count.scale_on_schedule(
            name,
            schedule=Schedule.expression(schedule.at),
            time_zone=TimeZone.of(schedule.timezone),
            min_capacity=schedule.min_count,
            max_capacity=schedule.max_count,
        )


def _cooldowns(settings: ScalingConfig | CopiesConfig) -> Any:
    return {
        name: Duration.seconds(value)
        for name in ("scale_in_cooldown", "scale_out_cooldown")
        if (value := getattr(settings, f"{name}_seconds")) is not None
    }


def thresholds(settings: AlarmsConfig) -> AlarmThresholds:
    """Return the thresholds of alarms."""
    return AlarmThresholds(**settings.model_dump(exclude_none=True))


def update(settings: UpdateConfig) -> AllAtOnce | Canary | Linear | Rolling:
    """Return the update strategy of an endpoint."""
    if settings.strategy == "all-at-once":
        return AllAtOnce()
    strategies: dict[str, type[Canary | Linear | Rolling]] = {
        "canary": Canary,
        "linear": Linear,
        "rolling": Rolling,
    }
    strategy = strategies[settings.strategy]
    return strategy(percent=settings.percent, wait=Duration.seconds(settings.wait_seconds))


def data_capture(
    config: EndpointConfig, bucket: s3.IBucket | None, *, prefix: str
) -> DataCapture | None:
    """Return the data capture below `prefix` of a bucket; None if not configured."""
    settings = config.data_capture
    if settings is None or bucket is None:
        return None
    options = settings.model_dump(exclude={"keep_days"})
    return DataCapture(bucket=bucket, prefix=prefix, **options)


RETENTION = dict(zip(get_args(RetentionDays), logs.RetentionDays, strict=False))
"""`log_retention_days` -> CDK enumeration; both are sorted by length."""
