"""The rules that the values of an endpoint, and of a whole stage, are checked by."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import platform_facts
from platform_facts.rules import (
    Violation,
    inside,
    observed,
    scaling,
    server,
    stage,
    updates,
    variants,
)

if TYPE_CHECKING:
    from stages.schema.endpoint import EndpointConfig
    from stages.schema.stage import StageConfig


def endpoint_problems(endpoint: "EndpointConfig") -> Iterator[Violation]:
    """Yield what does not fit together in an endpoint, below its key."""
    yield from variants.number_of_variants(len(endpoint.variants))
    yield from variants.traffic([variant.weight for variant in endpoint.variants.values()])
    yield from variants.rolling_of_one_variant(endpoint.update.strategy, len(endpoint.variants))
    yield from updates.update(endpoint.update.times)
    limit, scaled = endpoint.server.model_load_gpu_limit, endpoint.scaling
    for instance_type in dict.fromkeys(endpoint.instance_types.values()):
        yield from server.memory_of_a_gpu(limit, instance_type)
        if scaled:
            yield from scaling.utilization_of_a_gpu(scaled.gpu_percent, instance_type)
    if scaled:
        yield from scaling.count_within_limits(
            endpoint.instance_count, scaled.min_count, scaled.max_count
        )
    yield from {"multi-model": _multi_model, "single-model": _single_model}[endpoint.hosting](
        endpoint
    )


def _multi_model(endpoint: "EndpointConfig") -> Iterator[Violation]:
    yield from server.answers_as_infer(endpoint.server.inference_type)
    yield from server.ping_of_many_models(endpoint.server.ping_mode)
    if endpoint.scaling:
        yield from scaling.concurrency_of_one_model(endpoint.scaling.concurrency)
    for keys, instance_type in endpoint.instance_types.items():
        yield from inside(keys, variants.one_gpu(instance_type))
    for name in stage.CACHE_ALARMS:
        if getattr(endpoint.alarms, name):
            yield from stage.alarm_of_the_cache.at("alarms", name)(endpoint.cache_models)


def _single_model(endpoint: "EndpointConfig") -> Iterator[Violation]:
    yield from stage.one_model(len(endpoint.models))
    yield from stage.cache_of_many_models(endpoint.cache_models)


def stage_problems(config: "StageConfig") -> Iterator[Violation]:
    """Yield what does not fit together in a stage; without an image, that alone."""
    region = platform_facts.region(config.region)
    release = platform_facts.release(config.release)
    if missing := variants.image(release, region):
        yield from missing
        return
    for name, endpoint in config.endpoints.items():
        yield from inside(("endpoints", name), _endpoint(config, endpoint, release))
    yield from stage.complete_region(region)
    zones, private = config.zones or [], config.private_network
    yield from stage.zones_of_a_network(zones, private)
    yield from stage.once.at("zones")(zones)
    for zone in zones:
        yield from stage.zone_of_the_region(zone, config.region)
    for name, image in config.gpu_build_images.items():
        yield from stage.image_of_the_region.at("gpu_build_images", name)(image, region)
    topics, emails = config.notify.topics, config.notify.email
    yield from stage.notified(config.production, [*emails, *topics])
    yield from stage.notified_of_alarms(config.production, [*emails, *topics])
    yield from stage.once.at("notify")([*emails, *topics])
    yield from observed.number_of_topics(len(topics) + bool(emails))
    for topic in topics:
        yield from stage.topic_of_the_region(topic, config.region)


def _endpoint(
    config: "StageConfig", endpoint: "EndpointConfig", release: platform_facts.Release
) -> Iterator[Violation]:
    for keys, instance_type in endpoint.instance_types.items():
        yield from inside(keys, variants.gpu_of_release(instance_type, release))
    yield from stage.metrics_of_a_private_network(endpoint.publish_metrics, config.private_network)
    for option, value in endpoint.server:
        if value is not None:
            yield from server.option_of_release.at("server", option)(option, release)
    if endpoint.publish_metrics:
        yield from server.option_of_release.at("publish_metrics")("publish_metrics", release)
    if config.production:
        yield from _smallest_counts(endpoint)


def _smallest_counts(endpoint: "EndpointConfig") -> Iterator[Violation]:
    """Yield where one instance may be all there is."""
    counts: dict[tuple[str, ...], int] = {("instance_count",): endpoint.instance_count}
    if endpoint.scaling and endpoint.instance_count >= 2:
        counts[("scaling", "min_count")] = endpoint.scaling.min_count
        for name, schedule in endpoint.scaling.schedules.items():
            counts[("scaling", "schedules", name, "min_count")] = schedule.min_count
    for keys, count in counts.items():
        yield from stage.survives_a_zone.at(*keys)(keys[-1], count)
