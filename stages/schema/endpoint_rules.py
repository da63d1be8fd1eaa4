"""What an endpoint cannot ask for together."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import platform_facts
from stages.schema.part import Found

if TYPE_CHECKING:
    from stages.schema.endpoint import EndpointConfig
    from stages.schema.scaling import ScalingConfig

MAX_VARIANTS = 10
"""SageMaker API reference, CreateEndpointConfig: ProductionVariants."""

OF_THE_CACHE = ("cache_hit_rate_below", "unloads_per_minute", "loaded_models_below")
"""Alarms of the cache of models: without it, every request misses it and unloads a model."""


def misfits(endpoint: "EndpointConfig") -> Found:
    """Yield what does not fit together."""
    yield from _HOSTING_RULES[endpoint.hosting](endpoint)
    yield from _variants(endpoint)
    yield from _gpus(endpoint)
    if endpoint.scaling:
        yield from _scaling(endpoint, endpoint.scaling)


def _variants(endpoint: "EndpointConfig") -> Found:
    variants = endpoint.variants
    if len(variants) > MAX_VARIANTS:
        yield ("variants",), f"{len(variants)} variants given: write one to {MAX_VARIANTS}"
    if not any(it.weight for it in variants.values()):
        yield (
            ("variants",),
            "no variant gets traffic: write a weight above 0 for one of the variants",
        )
    if endpoint.update.strategy == "rolling" and len(variants) > 1:
        yield (
            ("update", "strategy"),
            "a rolling update takes one variant: write canary or linear",
        )


def _gpus(endpoint: "EndpointConfig") -> Found:
    """Yield what is asked of GPUs on types that have none."""
    asked = {
        ("scaling", "gpu_percent"): endpoint.scaling and endpoint.scaling.gpu_percent,
        ("server", "model_load_gpu_limit"): endpoint.server.model_load_gpu_limit,
    }
    for instance_type in dict.fromkeys(map(endpoint.variant_instance_type, endpoint.variants)):
        if platform_facts.instance_type(instance_type).gpu is None:
            for keys, value in asked.items():
                if value is not None:
                    yield keys, f"{instance_type} has no GPU: remove {keys[-1]}"


def _scaling(endpoint: "EndpointConfig", scaling: "ScalingConfig") -> Found:
    if not scaling.min_count <= endpoint.instance_count <= scaling.max_count:
        yield (
            ("instance_count",),
            f"{endpoint.instance_count} is outside the scaling limits: write "
            f"{scaling.min_count} to {scaling.max_count}",
        )


def _multi_model(endpoint: "EndpointConfig") -> Found:
    yield from _one_gpu(endpoint)
    if endpoint.server.inference_type not in (None, "infer"):  # server src/sagemaker_server.cc
        yield (
            ("server", "inference_type"),
            f"multi-model endpoints always answer as infer, not {endpoint.server.inference_type}: "
            "remove it, or write hosting: single-model",
        )
    if endpoint.server.ping_mode == "ready":
        yield (
            ("server", "ping_mode"),
            "ready makes a multi-model instance unhealthy as soon as one model fails to load: "
            "remove it",
        )
    # The metric comes every ten seconds; "multi-model endpoint metrics are available at one-minute
    # granularity", and the page names no other (developer guide, multi-model-endpoints-autoscaling)
    if endpoint.scaling and endpoint.scaling.concurrency is not None:
        yield (
            ("scaling", "concurrency"),
            "AWS documents no such metric of multi-model endpoints: write max_rps, or hosting: "
            "single-model",
        )
    if not endpoint.cache_models:
        for name in OF_THE_CACHE:
            if getattr(endpoint.alarms, name):
                yield (
                    ("alarms", name),
                    "with cache_models: false no model stays in memory to be measured: remove it",
                )


def _one_gpu(endpoint: "EndpointConfig") -> Found:
    places = {endpoint.place_of_type(it): endpoint.variant_instance_type(it)
              for it in endpoint.variants}  # fmt: skip
    for place, name in places.items():
        instance = platform_facts.instance_type(name)
        if instance.multi_model is platform_facts.Support.NO:
            fit = [
                other.name
                for other in platform_facts.instance_types()
                if other.gpu == instance.gpu and other.multi_model is platform_facts.Support.YES
            ]
            yield (
                place,
                f"{name} cannot host a GPU multi-model endpoint, which takes one GPU: write "
                f"{', '.join(fit) or 'a single-GPU type such as ml.g5.xlarge'}",
            )


def _single_model(endpoint: "EndpointConfig") -> Found:
    if len(endpoint.models) != 1:
        yield ("models",), f"single-model hosting takes one model, not {len(endpoint.models)}"
    if not endpoint.cache_models:
        yield (
            ("cache_models",),
            "a single model always stays in memory: remove it, or write hosting: multi-model",
        )


_HOSTING_RULES: dict[str, Callable[["EndpointConfig"], Found]] = {
    "multi-model": _multi_model,
    "single-model": _single_model,
}
