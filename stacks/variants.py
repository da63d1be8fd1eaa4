"""Conversion of variant plans to `triton_sagemaker.Variant`."""

from collections.abc import Callable

from aws_cdk import Duration, Size
from aws_cdk import aws_s3 as s3

from model_build import ModelPlan
from stacks import settings
from stages.plan import EndpointPlan, PoolPlan, VariantPlan
from triton_sagemaker import (
    ComponentHosting,
    Fallback,
    HostingMode,
    ModelComponent,
    MultiModelHosting,
    PublishedMetrics,
    SingleModelHosting,
    TritonContainer,
    Variant,
    metrics_log_name,
)


def variant(variant_plan: VariantPlan, endpoint_plan: EndpointPlan, models: s3.IBucket) -> Variant:
    """Return a variant of an endpoint, whose archives are in the bucket `models`."""
    config, minutes = endpoint_plan.config, endpoint_plan.config.provision_timeout_minutes
    preferred, *others = variant_plan.pools
    metrics = None
    if endpoint_plan.metrics_namespace:
        metrics = PublishedMetrics(
            log_group=metrics_log_name(endpoint_plan.name),
            namespace=endpoint_plan.metrics_namespace,
        )
    return Variant(
        variant_name=variant_plan.name,
        initial_variant_weight=variant_plan.weight,
        container=TritonContainer(
            release=endpoint_plan.release,
            environment=config.environment,
            options=settings.server_options(config.server, metrics),
        ),
        hosting=HOSTINGS[config.hosting](preferred, endpoint_plan, models),
        instance_type=preferred.instance_type,
        initial_instance_count=config.instance_count,
        fallbacks=[
            Fallback(
                instance_type=pool.instance_type, hosting=_single_model(pool, endpoint_plan, models)
            )
            for pool in others
        ],
        provision_timeout=Duration.minutes(minutes) if minutes else None,
    )


def _multi_model(pool: PoolPlan, plan: EndpointPlan, models: s3.IBucket) -> HostingMode:
    cache = plan.config.cache_models
    return MultiModelHosting(bucket=models, prefix=pool.prefix, cache_models=cache)


def _single_model(pool: PoolPlan, plan: EndpointPlan, models: s3.IBucket) -> SingleModelHosting:
    (model,) = plan.models
    return _archive(model, pool, models)


def _components(pool: PoolPlan, plan: EndpointPlan, models: s3.IBucket) -> HostingMode:
    names = plan.mode.component_names(plan.full_name, plan.config)
    components, instances = plan.config.components, plan.config.instances
    assert components is not None
    assert instances is not None
    return ComponentHosting(
        components={
            model.name: ModelComponent(
                name=names[model.name],
                source=_archive(model, pool, models),
                memory=Size.mebibytes(components[model.name].memory_mb),
                cpus=components[model.name].cpus,
                accelerators=components[model.name].accelerators,
                initial_copy_count=max(1, components[model.name].copies.min),
            )
            for model in plan.models
        },
        max_instance_count=instances.max,
        min_instance_count=instances.min,
    )


def _archive(model: ModelPlan, pool: PoolPlan, models: s3.IBucket) -> SingleModelHosting:
    key = f"{pool.prefix}{model.target_model}"
    return SingleModelHosting(bucket=models, key=key, default_model=model.entry)


HOSTINGS: dict[str, Callable[[PoolPlan, EndpointPlan, s3.IBucket], HostingMode]] = {
    "multi-model": _multi_model,
    "single-model": _single_model,
    "components": _components,
}
"""Hosting mode in a stage file -> function that returns the construct library's mode."""
