"""Planned variants as the construct library takes them."""

from aws_cdk import Duration
from aws_cdk import aws_s3 as s3

from stacks import settings
from stages.plan import EndpointPlan, PoolPlan, VariantPlan
from triton_sagemaker import (
    Fallback,
    HostingMode,
    MultiModelHosting,
    PublishedMetrics,
    SingleModelHosting,
    TritonContainer,
    Variant,
    metrics_log_name,
)


def variant(planned: VariantPlan, plan: EndpointPlan, models: s3.IBucket) -> Variant:
    """Return a variant of an endpoint, whose archives are in the bucket `models`."""
    config, minutes = plan.config, plan.config.provision_timeout_minutes
    preferred, *others = planned.pools
    metrics = None
    if plan.metrics_namespace:
        metrics = PublishedMetrics(
            log_group=metrics_log_name(plan.name), namespace=plan.metrics_namespace
        )
    return Variant(
        variant_name=planned.name,
        initial_variant_weight=planned.weight,
        container=TritonContainer(
            release=plan.release,
            environment=config.environment,
            options=settings.server_options(config.server, metrics),
        ),
        hosting=_hosting(preferred, plan, models),
        instance_type=preferred.instance_type,
        initial_instance_count=config.instance_count,
        fallbacks=[
            Fallback(instance_type=pool.instance_type, hosting=_hosting(pool, plan, models))
            for pool in others
        ],
        provision_timeout=Duration.minutes(minutes) if minutes else None,
    )


def _hosting(pool: PoolPlan, plan: EndpointPlan, models: s3.IBucket) -> HostingMode:
    if plan.config.hosting == "multi-model":
        return MultiModelHosting(
            bucket=models, prefix=pool.prefix, cache_models=plan.config.cache_models
        )
    (model,) = plan.models
    key = f"{pool.prefix}{model.target_model}"
    return SingleModelHosting(bucket=models, key=key, default_model=model.entry)
