"""What AWS's API has and the tables do not."""

from datetime import timedelta

import pytest

import platform_facts
from platform_facts import _freshness
from platform_facts._freshness import MOST_DAYS, old_prices, unknown_amis, unknown_families


def test_a_new_family_of_gpu_instances_is_named_once() -> None:
    (line,) = unknown_families(["ml.g5.xlarge", "ml.g99.xlarge", "ml.g99.2xlarge", "ml.c5.xlarge"])
    assert line.startswith("instances.toml: SageMaker offers ml.g99: add the family")


def test_a_family_that_nobody_read_about_is_known_as_such() -> None:
    assert unknown_families(["ml.g7e.2xlarge", "ml.p6-b200.48xlarge"]) == []


def test_a_new_ami_with_a_driver_is_named() -> None:
    known = platform_facts.inference_amis()[0].name
    (line,) = unknown_amis([known, "al2023-ami-sagemaker-inference-gpu-9-1", "al2-neuron-2"])
    assert "al2023-ami-sagemaker-inference-gpu-9-1" in line


def test_old_prices_are_named() -> None:
    day = platform_facts.prices().date
    assert old_prices(day + timedelta(days=MOST_DAYS)) == []
    (line,) = old_prices(day + timedelta(days=MOST_DAYS + 1))
    assert line == f"prices.toml is {MOST_DAYS + 1} days old: make prices"


def test_the_installed_api_has_nothing_new_but_prices(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_freshness, "old_prices", lambda _: [])
    assert _freshness.main() == 0, capsys.readouterr().out
