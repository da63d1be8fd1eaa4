"""Updates that take a fleet back to its initial size."""

from collections.abc import Iterator
from typing import Any

from release.review.comparison import Comparison
from release.review.dangers.found import Found

_COUNT = {"VariantPropertyType": "DesiredInstanceCount"}


def reset_counts(comparison: Comparison) -> Iterator[Found]:
    """An update no longer keeps the number of instances that scaling, or a person, has chosen.

    Without `RetainAllVariantProperties`, or with the count among
    `ExcludeRetainedVariantProperties`, the configuration's count is taken (API reference,
    UpdateEndpoint).
    """
    for change in comparison.changes:
        if change.type != "AWS::SageMaker::Endpoint" or not (change.before and change.after):
            continue
        pair = comparison.endpoints[change.stack]
        if _keeps(change.before["Properties"]) and not _keeps(change.after["Properties"]):
            assert pair.after
            counts = ", ".join(
                f"{it.name}: {it.initial} of up to {it.maximum}"
                for it in pair.after.variants.values()
            )
            yield Found(
                pair.name,
                f"updates of {pair.name} no longer keep the number of instances: new ones begin "
                f"with the initial number, whatever the load ({counts})",
            )


def _keeps(endpoint: dict[str, Any]) -> bool:
    excluded = endpoint.get("ExcludeRetainedVariantProperties", [])
    return bool(endpoint.get("RetainAllVariantProperties")) and _COUNT not in excluded
