"""Checks of the arguments of an endpoint."""

from collections.abc import Iterator, Sequence

from platform_facts.rules import names, ranges
from platform_facts.rules import variants as variant_rules
from triton_sagemaker.data_capture import DataCapture
from triton_sagemaker.problems import Problem, check, prefix_problems
from triton_sagemaker.updates import UpdatePolicy
from triton_sagemaker.variant import Variant, start_seconds


def endpoint_problems(
    endpoint_name: str,
    variants: Sequence[Variant],
    update: UpdatePolicy,
    rollback_error_rate: float,
    data_capture: DataCapture | None,
) -> list[Problem]:
    """Return the invalid arguments of an endpoint, in the order of the arguments."""
    return [
        *check(names.check_endpoint_name, endpoint_name),
        *_variants(variants),
        *update.problems(start_seconds(variants)),
        *check(variant_rules.check_rolling_variant_count, update.strategy, len(variants)),
        *check(ranges.ROLLBACK_ERROR_RATE, rollback_error_rate),
        *(data_capture.problems() if data_capture else ()),
        *(
            variants[0].hosting.endpoint_problems(
                variants, update, has_data_capture=data_capture is not None
            )
            if variants
            else ()
        ),
    ]


def _variants(variants: Sequence[Variant]) -> Iterator[Problem]:
    yield from check(variant_rules.check_variant_count, len(variants))
    all_names = [variant.variant_name for variant in variants]
    for name in sorted({name for name in all_names if all_names.count(name) > 1}):
        yield Problem("variants", f'two variants are named "{name}": use unique names')
    for variant in variants:
        yield from prefix_problems(f"variants.{variant.variant_name}", variant.problems())
    if variants:
        weights = [variant.initial_variant_weight for variant in variants]
        yield from check(variant_rules.check_traffic, weights)
    if len(modes := sorted({type(variant.hosting).__name__ for variant in variants})) > 1:
        message = f"{' and '.join(modes)} are invoked differently: use one endpoint for each"
        yield Problem("variants", message)
