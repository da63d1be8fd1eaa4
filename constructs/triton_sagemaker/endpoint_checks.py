"""What an endpoint as a whole may not be."""

from collections.abc import Iterator, Sequence

from aws_cdk import aws_cloudwatch as cloudwatch

from triton_sagemaker.data_capture import DataCapture
from triton_sagemaker.problems import Problem, inside
from triton_sagemaker.updates import Rolling, UpdatePolicy
from triton_sagemaker.variant import NAME, Variant

MAX_VARIANTS = 10
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
        *_name(endpoint_name),
        *_variants(variants),
        *inside("update", update.problems(start=longest_start(variants))),
        *_rolling(update, variants),
        *_alarms(rollback_alarms or ()),
        *_rollback(rollback_error_rate),
        *(inside("data_capture", data_capture.problems()) if data_capture else ()),
    ]


def longest_start(variants: Sequence[Variant]) -> int:
    """Return how many seconds may pass until a new fleet of all variants serves."""
    return max((it.instances.longest_start for it in variants), default=0)


def _name(endpoint_name: str) -> Iterator[Problem]:
    if not NAME.fullmatch(endpoint_name):
        yield Problem(
            "endpoint_name",
            f'"{endpoint_name}" is not an endpoint name: write up to 63 letters, digits and '
            "hyphens",
        )


def _variants(variants: Sequence[Variant]) -> Iterator[Problem]:
    if not 1 <= len(variants) <= MAX_VARIANTS:
        yield Problem("variants", f"{len(variants)} given: write one to {MAX_VARIANTS}")
    names = [it.name for it in variants]
    for name in sorted({it for it in names if names.count(it) > 1}):
        yield Problem("variants", f'"{name}" is given twice: give each variant a name of its own')
    for variant in variants:
        yield from inside(f"variants.{variant.name}", variant.problems())
    if variants and not sum(it.weight for it in variants) > 0:
        yield Problem("variants", "no variant gets traffic: give one a weight above 0")
    modes = sorted({type(it.hosting).__name__ for it in variants})
    if len(modes) > 1:
        yield Problem(
            "variants",
            f"{' and '.join(modes)} cannot be invoked alike: make an endpoint of each",
        )


def _rolling(update: UpdatePolicy, variants: Sequence[Variant]) -> Iterator[Problem]:
    if isinstance(update, Rolling) and len(variants) > 1:
        yield Problem(
            "update",
            "a rolling update takes one variant: write AllAtOnce, Canary or Linear",
        )


def _alarms(alarms: Sequence[cloudwatch.IAlarm]) -> Iterator[Problem]:
    if len(alarms) > MAX_ROLLBACK_ALARMS:
        yield Problem(
            "rollback_alarms", f"{len(alarms)} given: write at most {MAX_ROLLBACK_ALARMS}"
        )


def _rollback(error_rate: float) -> Iterator[Problem]:
    if not 0 < error_rate <= 1:
        yield Problem(
            "rollback_error_rate",
            f"{error_rate} is not a share: write more than 0 and at most 1",
        )
