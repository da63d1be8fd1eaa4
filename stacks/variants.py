"""Conversion of planned variants to `triton_sagemaker.Variant`."""

from aws_cdk import Duration, Size
from aws_cdk import aws_s3 as s3

import platform_facts
from plan.document import PlannedEndpoint, PlannedModel, PlannedPool, PlannedVariant
from platform_facts.rules.names import metrics_log_group
from stacks import settings
from stages.schema.endpoint import EndpointConfig
from triton_sagemaker import (
    ComponentHosting,
    ContainerImage,
    Fallback,
    HostingMode,
    ModelComponent,
    MultiModelHosting,
    PublishedMetrics,
    SingleModelHosting,
    TritonContainer,
    Variant,
)


def variants(
    plan: PlannedEndpoint, config: EndpointConfig, release: str, models: s3.IBucket
) -> list[Variant]:
    """Return the variants of an endpoint, whose archives are in the bucket `models`."""
    namespace, metrics = plan.settings.metrics_namespace, None
    if namespace:
        log_group = metrics_log_group(plan.settings.name)
        metrics = PublishedMetrics(log_group=log_group, namespace=namespace)
    container = TritonContainer(
        release=platform_facts.release(release),
        image=ContainerImage(config.image.uri) if config.image else None,
        environment=config.environment,
        options=settings.server_options(config.server, metrics),
    )
    minutes, volume = config.provision_timeout_minutes, config.volume_size_gb
    return [
        Variant(
            variant_name=name,
            initial_variant_weight=variant.weight,
            container=container,
            hosting=_hosting(plan, variant, config, models),
            instance_type=platform_facts.instance_type(variant.instance_types[0]),
            initial_instance_count=variant.initial_count,
            fallbacks=[
                Fallback(
                    instance_type=platform_facts.instance_type(pool.instance_type),
                    hosting=_archive(model, pool, models),
                )
                for model in plan.models.values()
                for pool in variant.pools[1:]
            ],
            provision_timeout=Duration.minutes(minutes) if minutes else None,
            download_timeout=Duration.minutes(config.download_timeout_minutes),
            startup_timeout=Duration.minutes(config.startup_timeout_minutes),
            volume_size=Size.gibibytes(volume) if volume else None,
        )
        for name, variant in plan.settings.variants.items()
    ]


def _hosting(
    plan: PlannedEndpoint, variant: PlannedVariant, config: EndpointConfig, models: s3.IBucket
) -> HostingMode:
    pool = variant.pools[0]
    archives = {name: _archive(model, pool, models) for name, model in plan.models.items()}
    match plan.settings.hosting:
        case "multi-model":
            return MultiModelHosting(
                bucket=models, prefix=pool.prefix, cache_models=config.cache_models
            )
        case "single-model":
            (archive,) = archives.values()
            return archive
        case "components":
            return ComponentHosting(
                components={
                    model: ModelComponent(
                        name=component.name,
                        source=archives[model],
                        memory=Size.mebibytes(component.memory_mb),
                        cpus=component.cpus,
                        accelerators=component.accelerators,
                        initial_copy_count=component.initial_count,
                    )
                    for model, component in plan.settings.components.items()
                },
                max_instance_count=variant.instances.maximum,
                min_instance_count=variant.instances.minimum,
            )


def _archive(model: PlannedModel, pool: PlannedPool, models: s3.IBucket) -> SingleModelHosting:
    key = model.archive_key(pool.prefix)
    return SingleModelHosting(bucket=models, key=key, default_model=model.default_model)
