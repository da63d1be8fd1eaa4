"""What an endpoint as a whole may not be."""

from collections.abc import Iterator, Sequence

from aws_cdk import aws_cloudwatch as cloudwatch

from platform_facts.rules import names, ranges
from platform_facts.rules import variants as variant_rules
from triton_sagemaker.data_capture import DataCapture
from triton_sagemaker.problems import Problem, inside, of_rules
from triton_sagemaker.updates import Rolling, UpdatePolicy
from triton_sagemaker.variant import Variant

MAX_ROLLBACK_ALARMS = 10
"""API reference, AutoRollbackConfig."""


def problems(
    *,
    endpoint_name: str,
    variants: Sequence[Variant],
    update: UpdatePolicy,
    rollback_alarms: Sequence[cloudwatch.IAlarm] | None,
    rollback_error_rate: float,
    data_capture: DataCapture | None,
) -> list[Problem]:
    """Return everything that is wrong with an endpoint and its parts, in the order of arguments."""
    return [
        *of_rules(names.endpoint_name(endpoint_name), endpoint_name),
        *_variants(variants),
        *update.problems(start=longest_start(variants)),
        *_rolling(update, variants),
        *_alarms(rollback_alarms or ()),
        *of_rules(ranges.ROLLBACK_ERROR_RATE(rollback_error_rate), rollback_error_rate),
        *(data_capture.problems() if data_capture else ()),
    ]


def longest_start(variants: Sequence[Variant]) -> int:
    """Return how many seconds may pass until a new fleet of all variants serves."""
    return max((it.instances.longest_start for it in variants), default=0)


def _variants(variants: Sequence[Variant]) -> Iterator[Problem]:
    yield from of_rules(variant_rules.number_of_variants(len(variants)))
    all_names = [variant.name for variant in variants]
    for name in sorted({name for name in all_names if all_names.count(name) > 1}):
        yield Problem("variants", f'"{name}" is given twice: give each variant a name of its own')
    for variant in variants:
        yield from inside(f"variants.{variant.name}", variant.problems())
    if variants:
        weights = [variant.weight for variant in variants]
        yield from of_rules(variant_rules.traffic(weights), *weights)
    modes = sorted({type(it.hosting).__name__ for it in variants})
    if len(modes) > 1:
        yield Problem(
            "variants",
            f"{' and '.join(modes)} cannot be invoked alike: make an endpoint of each",
        )


def _rolling(update: UpdatePolicy, variants: Sequence[Variant]) -> Iterator[Problem]:
    if isinstance(update, Rolling):
        yield from of_rules(variant_rules.rolling_of_one_variant("rolling", len(variants)))


def _alarms(alarms: Sequence[cloudwatch.IAlarm]) -> Iterator[Problem]:
    if len(alarms) > MAX_ROLLBACK_ALARMS:
        yield Problem(
            "rollback_alarms", f"{len(alarms)} given: write at most {MAX_ROLLBACK_ALARMS}"
        )
