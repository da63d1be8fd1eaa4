"""Tests of cache hit rates, and of one endpoint for many models."""

import json
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

import platform_facts
from cli.dispatch import parse_command
from cli.load.cache import hit_rate, zipf
from cli.load.many_models import Demand, plan_endpoint

DEMAND = Demand(models=1000, exponent=1.1, rps=500, model_mib=400, hits=0.9)


def simulate(count: int, exponent: float, capacity: int) -> float:
    """Return the simulated hit rate of an LRU cache."""
    cache, hits = OrderedDict[int, None](), 0
    requests = np.random.default_rng(0).choice(count, 40_000, p=zipf(count, exponent))
    for model in requests.tolist():
        hits += model in cache
        cache[model] = None
        cache.move_to_end(model)
        if len(cache) > capacity:
            cache.popitem(last=False)
    return hits / len(requests)


@pytest.mark.parametrize(
    ("count", "exponent", "capacity"), [(20, 1.1, 4), (20, 0.0, 5), (500, 1.4, 9)]
)
def test_hit_rates_match_a_simulated_cache(count: int, exponent: float, capacity: int) -> None:
    predicted = hit_rate(zipf(count, exponent), capacity)
    assert predicted == pytest.approx(simulate(count, exponent, capacity), abs=0.02)


def test_models_that_fit_in_memory_are_always_hits() -> None:
    assert hit_rate(zipf(7, 1.0), 9) == pytest.approx(1, abs=1e-6)


def test_endpoint_has_the_fewest_instances_for_the_hit_rate() -> None:
    endpoint = plan_endpoint(DEMAND, "ml.g5.xlarge", None, "us-east-1")
    assert endpoint
    assert endpoint.capacity == 49  # 80 % of 24 GiB
    assert endpoint.lowest_hits < 0.9 <= endpoint.highest_hits
    assert hit_rate(zipf(1000, 1.1), 49 * (endpoint.instances - 1)) < 0.9
    assert endpoint.monthly_usd == pytest.approx(1.4084 * 730 * endpoint.instances)


def test_endpoint_has_instances_for_the_rate() -> None:
    endpoint = plan_endpoint(DEMAND, "ml.g5.xlarge", 10, "us-east-1")
    assert endpoint
    assert (endpoint.instances, endpoint.needed_rps) == (100, 10)


def test_two_models_of_an_endpoint_cost_half_of_two_endpoints() -> None:
    """As in the article with two ensembles on one endpoint of ml.g4dn.4xlarge."""
    demand = Demand(models=2, exponent=1.1, rps=1, model_mib=4000, hits=0.9)
    endpoint = plan_endpoint(demand, "ml.g4dn.4xlarge", None, "us-east-1")
    assert endpoint
    assert (endpoint.instances, endpoint.separate_instances) == (2, 4)
    assert endpoint.saving == 0.5
    assert endpoint.monthly_usd
    assert endpoint.separate_usd == 2 * endpoint.monthly_usd


def test_instance_type_without_memory_for_a_model_has_no_plan() -> None:
    demand = Demand(models=2, exponent=1.0, rps=1, model_mib=30_000, hits=0.9)
    assert plan_endpoint(demand, "ml.g5.xlarge", None, "us-east-1") is None


@pytest.mark.parametrize(
    "options", [["--traffic", "zipf"], ["--hits", "1.5"], ["--instance", "ml.g9.xlarge=3"]]
)
def test_invalid_options_for_many_models_are_usage_errors(options: list[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        parse_command(["size", "--models", "9", "--rps", "5", *options])()
    assert raised.value.code == 2


def test_table_has_assumptions_and_measured_rates(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "models" / "m" / "tests" / "sizing"
    folder.mkdir(parents=True)
    result = {"model": "m", "version": "0", "latency_ms": {"p95": 9}, "max_rps": 60}
    for number, machine in enumerate(("ml.g5.xlarge", "laptop")):
        content = {**result, "date": f"2026-11-2{number}", "measured_on": machine}
        (folder / f"{machine}.json").write_text(json.dumps(content))
    file = tmp_path / "endpoints.json"
    command = ["size", "m", "--models", "100", "--traffic", "zipf:1.1", "--rps", "50"]
    assert parse_command([*command, "--json", str(file)])() == 0
    printed = capsys.readouterr().out
    assert " of 60" in next(line for line in printed.splitlines() if "ml.g5.xlarge" in line)
    assert " of ?" in next(line for line in printed.splitlines() if "ml.m5.xlarge" in line)
    assert "laptop" not in printed
    assumptions = printed.partition("assumptions:\n")[2].splitlines()
    sources = ("unsourced", "our choice", "guide", f"prices of {platform_facts.prices().date}")
    for line in assumptions:
        assert any(source in line for source in sources), line
    endpoints = json.loads(file.read_text())
    assert endpoints == sorted(endpoints, key=lambda endpoint: endpoint["monthly_usd"])
