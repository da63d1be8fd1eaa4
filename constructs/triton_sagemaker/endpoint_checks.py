"""What an endpoint as a whole may not be."""

from collections.abc import Iterator, Sequence

from triton_sagemaker.access import AsyncInference, DataCapture, InstanceMetrics, VpcAccess
from triton_sagemaker.problems import Problem, inside
from triton_sagemaker.updates import Rolling, UpdatePolicy
from triton_sagemaker.variant import NAME, Variant

MAX_VARIANTS = 10


def problems(
    *,
    endpoint_name: str,
    variants: Sequence[Variant],
    shadow_variants: Sequence[Variant],
    update: UpdatePolicy,
    network: VpcAccess | None,
    data_capture: DataCapture | None,
    async_inference: AsyncInference | None,
    instance_metrics: InstanceMetrics | None,
) -> list[Problem]:
    """Return everything that is wrong with an endpoint and its parts, in the order of arguments."""
    return [
        *_name(endpoint_name),
        *_variants(variants, shadow_variants),
        *_shadows(variants, shadow_variants),
        *inside("update", update.problems()),
        *_rolling(update, variants),
        *(inside("network", network.problems()) if network else ()),
        *(inside("data_capture", data_capture.problems()) if data_capture else ()),
        *(_async(async_inference, variants) if async_inference else ()),
        *(inside("instance_metrics", instance_metrics.problems()) if instance_metrics else ()),
    ]


def _name(endpoint_name: str) -> Iterator[Problem]:
    if not NAME.fullmatch(endpoint_name):
        yield Problem(
            "endpoint_name",
            f'"{endpoint_name}" is no endpoint name: write up to 63 letters, digits and hyphens',
        )


def _variants(variants: Sequence[Variant], shadows: Sequence[Variant]) -> Iterator[Problem]:
    if not 1 <= len(variants) <= MAX_VARIANTS:
        yield Problem("variants", f"{len(variants)} given: write one to {MAX_VARIANTS}")
    every = [*variants, *shadows]
    for name in sorted({it.name for it in every if [v.name for v in every].count(it.name) > 1}):
        yield Problem("variants", f'"{name}" stands twice: give each variant a name of its own')
    for variant in every:
        yield from inside(f"variants.{variant.name}", variant.problems())
    if variants and not sum(it.weight for it in variants) > 0:
        yield Problem("variants", "no variant gets traffic: give one a weight above 0")
    if len({it.hosting.multi_model for it in every}) > 1:
        yield Problem(
            "variants",
            "some host many models and some a single one, which clients could not invoke alike: "
            "make two endpoints",
        )


def _shadows(variants: Sequence[Variant], shadows: Sequence[Variant]) -> Iterator[Problem]:
    if not shadows:
        return
    if any(it.hosting.multi_model for it in [*variants, *shadows]):
        yield Problem(
            "shadow_variants",
            "SageMaker has no shadow tests for multi-model endpoints: remove them, or host a "
            "single model",
        )
    if len(variants) != 1 or len(shadows) != 1:
        yield Problem(
            "shadow_variants",
            f"{len(variants)} variants and {len(shadows)} shadows given: SageMaker takes one of "
            "each",
        )


def _rolling(update: UpdatePolicy, variants: Sequence[Variant]) -> Iterator[Problem]:
    if isinstance(update, Rolling) and len(variants) > 1:
        yield Problem(
            "update",
            "a rolling update takes one variant: write AllAtOnce, Canary or Linear",
        )


def _async(inference: AsyncInference, variants: Sequence[Variant]) -> Iterator[Problem]:
    yield from inside("async_inference", inference.problems())
    if any(it.hosting.multi_model for it in variants):
        yield Problem(
            "async_inference",
            "multi-model endpoints are not hosted asynchronously here: host a single model",
        )
