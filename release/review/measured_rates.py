"""Request rates that `tritonsm size` measured, for the models of changed endpoints."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ValidationError

import platform_facts
from release.review.comparison import Comparison
from release.review.endpoints import TemplateEndpoint, TemplateModel
from release.review.money import HOURS_PER_MONTH

LAPTOP = "laptop"
FOLDER = Path("tests", "sizing")
"""Folder of results below the model's folder; files in `tests` do not change the model's digest
(model_build/digest.py)."""
SCALING_TARGET_SHARE = 0.5
"""Share of max_rps that is the scaling target of each instance (stages/schema/scaling.py)."""


class Measurement(BaseModel):
    """A stored result of `tritonsm size`; `measured_on` is an instance type or `laptop`."""

    model: str
    version: str
    date: str
    measured_on: str
    max_rps: float
    latency_ms: dict[str, float]


def measurements(models: Path, model: str) -> list[Measurement]:
    """Return the measurements of a model on instance types, newest first.

    Results from a laptop and invalid files are omitted. All folders are searched, because the
    folder of a recipe's alternative has another name than the alternative.
    """
    results = []
    for path in models.glob(f"*/{FOLDER}/*.json"):
        with suppress(OSError, ValidationError):
            results.append(Measurement.model_validate_json(path.read_bytes()))
    own = [item for item in results if item.model == model and item.measured_on != LAPTOP]
    return sorted(own, key=lambda item: item.date, reverse=True)


def measured_rates(comparison: Comparison) -> Iterator[str]:
    """Yield one sentence for each model of each changed endpoint."""
    _, folder = comparison.models
    for pair in comparison.endpoints.values():
        if pair.after and pair.after != pair.before:
            for model in pair.after.models.values():
                known = measurements(folder, model.name) if folder else []
                sentence = _sentence(pair.after, model, known, comparison.file_after.region)
                yield f"{pair.name}, {model.name}: {sentence}"


def _sentence(
    endpoint: TemplateEndpoint, model: TemplateModel, known: list[Measurement], region: str
) -> str:
    counts: dict[str, int] = {}
    for variant in endpoint.variants.values():
        for name in variant.instance_types[:1]:
            counts[name] = counts.get(name, 0) + variant.minimum
    newest = {item.measured_on: item for item in reversed(known)}
    if not known:
        return "not measured"
    parts = [_rate(newest[name], counts[name], model, region) for name in counts if name in newest]
    if missing := [name for name in counts if name not in newest]:
        other = "" if parts else f", but on {', '.join(newest)}"
        parts.append(f"not measured on {', '.join(missing)}{other}")
    return "; ".join(parts)


def _rate(result: Measurement, count: int, model: TemplateModel, region: str) -> str:
    name, price = result.measured_on, platform_facts.prices().of(region, result.measured_on)
    usd = (
        f"{price * count * HOURS_PER_MONTH:,.0f} USD a month" if price else f"no price in {region}"
    )
    version = f" of version {result.version}, not {model.version}"
    measured = f"measured {result.date}{version if result.version != model.version else ''}"
    p95 = f"p95 {result.latency_ms.get('p95', 0):.0f} ms"
    rate = f"{SCALING_TARGET_SHARE * result.max_rps * count:g} rps"
    return f"{rate}: {count} x {name}, {p95} ({measured}), {usd}"
