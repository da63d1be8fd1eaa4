"""Measured request rates in a review."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from plan.document import PlannedEndpoint
from review.measured_rates import measured_rates
from tests.unit.plan.plans import make_endpoint, make_model
from tests.unit.review.edits import variant

MODEL = make_model("minilm", digest="fd7fc2b15569" + "0" * 52)
RESULT = {
    "model": "minilm",
    "version": "fd7fc2b15569",
    "date": "2026-11-22",
    "measured_on": "ml.g5.xlarge",
    "max_rps": 60.0,
    "latency_ms": {"p95": 38.1},
}


def write_result(models: Path, name: str = "result", **fields: Any) -> None:
    path = models / "minilm" / "tests" / "sizing" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(RESULT | fields))


def endpoint(instance_type: str = "ml.g5.xlarge") -> PlannedEndpoint:
    variants = {"AllTraffic": variant(instance_type)}
    return make_endpoint(models={"minilm": MODEL}, variants=variants)


def rates(models: Path, instance_type: str = "ml.g5.xlarge") -> list[str]:
    """Return the sentences about a new endpoint of two instances."""
    after = endpoint(instance_type)
    return list(measured_rates(comparison(models, None, after)))


def comparison(models: Path, before: PlannedEndpoint | None, after: PlannedEndpoint) -> Any:
    """Return a comparison of one endpoint; only the head has a models folder."""
    return SimpleNamespace(
        models=(None, models),
        plans=(None, SimpleNamespace(region="us-east-1")),
        endpoints={"text": SimpleNamespace(name="prod-text", before=before, after=after)},
    )


def test_rate_and_cost_of_the_minimum_instances(tmp_path: Path) -> None:
    write_result(tmp_path, "older", date="2026-10-01", max_rps=5)
    write_result(tmp_path)
    assert rates(tmp_path) == [
        "prod-text, minilm: 60 rps: 2 x ml.g5.xlarge, p95 38 ms (measured 2026-11-22), "
        "2,044 USD a month"
    ]


@pytest.mark.parametrize("fields", [{"model": "minilm-small"}, {"measured_on": "laptop"}])
def test_result_of_another_model_or_a_laptop_is_ignored(
    tmp_path: Path, fields: dict[str, str]
) -> None:
    write_result(tmp_path, **fields)
    assert rates(tmp_path) == []


def test_result_of_another_version_is_reported_with_both(tmp_path: Path) -> None:
    write_result(tmp_path, version="000000000000")
    [sentence] = rates(tmp_path)
    assert "(measured 2026-11-22 of version 000000000000, not fd7fc2b15569)" in sentence


def test_result_of_another_instance_type_names_both(tmp_path: Path) -> None:
    write_result(tmp_path)
    assert rates(tmp_path, "ml.g5.2xlarge") == [
        "prod-text, minilm: not measured on ml.g5.2xlarge, but on ml.g5.xlarge"
    ]
