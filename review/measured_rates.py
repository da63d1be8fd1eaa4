"""Request rates that `tritonsm size` measured, for the models of changed endpoints."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ValidationError

import platform_facts
from plan.document import PlannedEndpoint, PlannedModel
from platform_facts import HOURS_PER_MONTH
from platform_facts.rules.scaling import SCALING_TARGET_SHARE
from review.comparison import Comparison

LAPTOP = "laptop"
FOLDER = Path("tests", "sizing")
"""Folder of results below the model's folder; files in `tests` do not change the model's digest
(model_build/digest.py)."""


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
    model_results = [
        result for result in results if result.model == model and result.measured_on != LAPTOP
    ]
    return sorted(model_results, key=lambda result: result.date, reverse=True)


def measured_rates(comparison: Comparison) -> Iterator[str]:
    """Yield one sentence for each measured model of each changed endpoint."""
    _, folder = comparison.models
    for pair in comparison.endpoints.values():
        if pair.after and pair.after != pair.before:
            for name, model in pair.after.models.items():
                if results := measurements(folder, name) if folder else []:
                    rates = _rates(pair.after, model, results, comparison.plans[1].region)
                    yield f"{pair.name}, {name}: {rates}"


def _rates(
    endpoint: PlannedEndpoint, model: PlannedModel, results: list[Measurement], region: str
) -> str:
    """Return the newest rate on each instance type; `results` are the newest first."""
    counts: dict[str, int] = {}
    for variant in endpoint.settings.variants.values():
        for name in variant.instance_types[:1]:
            counts[name] = counts.get(name, 0) + variant.instances.minimum
    newest = {result.measured_on: result for result in reversed(results)}
    rates = [_rate(newest[name], counts[name], model, region) for name in counts if name in newest]
    if missing := [name for name in counts if name not in newest]:
        other_types = "" if rates else f", but on {', '.join(newest)}"
        rates.append(f"not measured on {', '.join(missing)}{other_types}")
    return "; ".join(rates)


def _rate(result: Measurement, count: int, model: PlannedModel, region: str) -> str:
    """Return the request rate, latency and cost of `count` instances."""
    price = platform_facts.prices().of(region, result.measured_on)
    usd = (
        f"{price * count * HOURS_PER_MONTH:,.0f} USD a month" if price else f"no price in {region}"
    )
    is_other_version = result.version != model.version
    version = f" of version {result.version}, not {model.version}" if is_other_version else ""
    rate = f"{SCALING_TARGET_SHARE * result.max_rps * count:g} rps"
    p95 = f"p95 {result.latency_ms.get('p95', 0):.0f} ms"
    instances = f"{count} x {result.measured_on}"
    return f"{rate}: {instances}, {p95} (measured {result.date}{version}), {usd}"
