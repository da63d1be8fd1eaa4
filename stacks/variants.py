"""Planned variants as the construct library takes them."""

from aws_cdk import aws_s3 as s3

from stacks import settings
from stages.plan import EndpointPlan, VariantPlan
from triton_sagemaker import (
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
    config = plan.config
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
        hosting=_hosting(planned, plan, models),
        instance_type=planned.instance_type,
        initial_instance_count=config.instance_count,
    )


def _hosting(planned: VariantPlan, plan: EndpointPlan, models: s3.IBucket) -> HostingMode:
    if plan.config.hosting == "multi-model":
        return MultiModelHosting(
            bucket=models, prefix=planned.prefix, cache_models=plan.config.cache_models
        )
    (model,) = plan.models
    key = f"{planned.prefix}{model.target_model}"
    return SingleModelHosting(bucket=models, key=key, default_model=model.entry)
