"""What was measured of the models of endpoints that change."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from release.review.endpoints import DeclaredEndpoint, DeclaredModel
from release.review.markdown import render
from release.review.measured_rates import measured_rates
from release.review.report import ChangeReport
from release.review.stage_review import StageReview
from tests.unit.release.review.test_money import endpoint, variant

MODEL = DeclaredModel(name="minilm", version="fd7fc2b15569", signature={}, targets=frozenset())
KEPT = {
    "model": "minilm",
    "version": "fd7fc2b15569",
    "date": "2026-11-22",
    "measured_on": "ml.g5.xlarge",
    "max_rps": 60.0,
    "latency_ms": {"p95": 38.1},
}


def keep(models: Path, name: str = "kept", **more: Any) -> None:
    path = models / "minilm" / "tests" / "sizing" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(KEPT | more))


def rates(models: Path, instance_type: str = "ml.g5.xlarge") -> list[str]:
    """Return the sentences of a new endpoint of two instances."""
    after = replace(endpoint(variant(instance_type)), models={"minilm": MODEL})
    return list(measured_rates(comparison(models, None, after)))


def comparison(models: Path, before: DeclaredEndpoint | None, after: DeclaredEndpoint) -> Any:
    return SimpleNamespace(
        models=(None, models),
        will_be=SimpleNamespace(region="us-east-1"),
        endpoints={"text": SimpleNamespace(name="prod-text", before=before, after=after)},
    )


def test_a_kept_result_says_the_rate_of_the_fewest_instances_and_their_cost(tmp_path: Path) -> None:
    keep(tmp_path, "older", date="2026-10-01", max_rps=5)
    keep(tmp_path)
    assert rates(tmp_path) == [
        "prod-text, minilm: 60 rps: 2 x ml.g5.xlarge, p95 38 ms (measured 2026-11-22), "
        "2,044 USD a month"
    ]


def test_a_model_without_a_result_is_not_measured(tmp_path: Path) -> None:
    keep(tmp_path, model="minilm-small")
    assert rates(tmp_path) == ["prod-text, minilm: not measured"]


def test_a_result_of_a_laptop_is_none_of_an_instance_type(tmp_path: Path) -> None:
    keep(tmp_path, measured_on="laptop", instance_type="ml.g5.xlarge")
    assert rates(tmp_path) == ["prod-text, minilm: not measured"]


def test_a_result_of_another_version_is_named(tmp_path: Path) -> None:
    keep(tmp_path, version="000000000000")
    [sentence] = rates(tmp_path)
    assert "(measured 2026-11-22 of version 000000000000, not fd7fc2b15569)" in sentence


def test_a_result_of_another_instance_type_is_not_used(tmp_path: Path) -> None:
    keep(tmp_path)
    assert rates(tmp_path, "ml.g5.2xlarge") == [
        "prod-text, minilm: not measured on ml.g5.2xlarge, but on ml.g5.xlarge"
    ]


@pytest.mark.parametrize("content", ["", "[]", '{"model": "minilm"}', "\udcff"])
def test_a_file_that_is_no_result_is_left_out(tmp_path: Path, content: str) -> None:
    keep(tmp_path)
    path = tmp_path / "minilm" / "tests" / "sizing" / "wrong.json"
    path.write_bytes(content.encode(errors="surrogateescape"))
    assert len(rates(tmp_path)) == 1


def test_an_endpoint_that_does_not_change_has_no_sentence(tmp_path: Path) -> None:
    same = replace(endpoint(variant()), models={"minilm": MODEL})
    assert list(measured_rates(comparison(tmp_path, same, same))) == []


def test_the_comment_has_the_rates() -> None:
    review = StageReview(stage="prod", rates=("prod-text, minilm: not measured",))
    text = render(ChangeReport(base="main", stages=(review,), findings=review.findings))
    assert "- prod-text, minilm: not measured" in text
