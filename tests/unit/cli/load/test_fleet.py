"""Hit rates of caches, and fleets of endpoints for many models."""

import json
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

import platform_facts
from cli.dispatch import read
from cli.load.cache import hit_rates, zipf
from cli.load.fleet import MOST_MODELS, Demand, deal, plan

ROOT = Path(__file__).parents[4]
DEMAND = Demand(models=1000, exponent=1.1, rps=500, model_mib=400, hits=0.9)


def simulated(count: int, exponent: float, capacity: int) -> float:
    """Return the hit rate of an LRU cache."""
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
    ("count", "exponent", "capacity"), [(20, 1.1, 4), (20, 0.0, 5), (500, 0.8, 50), (500, 1.4, 9)]
)
def test_hit_rates_are_those_of_a_simulated_cache(
    count: int, exponent: float, capacity: int
) -> None:
    [predicted] = hit_rates(zipf(count, exponent)[np.newaxis], capacity)
    assert predicted == pytest.approx(simulated(count, exponent, capacity), abs=0.02)


def test_what_is_all_in_memory_is_always_hit() -> None:
    shares = deal(zipf(7, 1.0), 2)  # rows of four models, and of three
    assert hit_rates(shares, [4, 9]) == pytest.approx([1, 1], abs=1e-6)


def test_models_are_dealt_to_endpoints_by_rank() -> None:
    assert deal(np.array([5.0, 4, 3, 2, 1]), 2).tolist() == [[5, 3, 1], [4, 2, 0]]


def test_a_fleet_has_the_fewest_endpoints_with_the_rate_of_hits() -> None:
    fleet = plan(DEMAND, "ml.g5.xlarge", None, "us-east-1")
    assert fleet
    assert fleet.capacity == 49  # 80 % of 24 GiB
    assert fleet.lowest_hits >= 0.9
    fewer = deal(zipf(1000, 1.1), fleet.endpoints - 1)
    assert fewer.sum(axis=1) @ hit_rates(fewer, 49) < 0.9
    assert fleet.highest_hits > fleet.lowest_hits
    assert fleet.instances == 2 * fleet.endpoints
    assert fleet.monthly_usd == pytest.approx(1.4084 * 730 * fleet.instances)


def test_an_endpoint_has_no_more_models_than_its_template_holds() -> None:
    small = Demand(models=1000, exponent=1.1, rps=1, model_mib=1, hits=0.5)
    fleet = plan(small, "ml.m5.xlarge", None, "us-east-1")
    assert fleet
    assert fleet.endpoints == -(-1000 // MOST_MODELS)
    assert (fleet.lowest_hits, fleet.loads_per_second) == pytest.approx((1, 0), abs=1e-5)


def test_a_measured_rate_adds_instances_to_busy_endpoints_alone() -> None:
    fleet = plan(DEMAND, "ml.g5.xlarge", 20, "us-east-1")
    assert fleet
    least = plan(DEMAND, "ml.g5.xlarge", None, "us-east-1")
    assert least
    assert fleet.endpoints == least.endpoints
    assert 2 * fleet.endpoints < fleet.instances < 60 * fleet.endpoints
    assert fleet.needed_rps <= 20 < least.needed_rps


def test_a_type_that_holds_no_model_is_left_out() -> None:
    huge = Demand(models=2, exponent=1.0, rps=1, model_mib=30_000, hits=0.9)
    assert plan(huge, "ml.g5.xlarge", None, "us-east-1") is None


def test_the_table_has_each_assumption_and_rates_that_were_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "models" / "m" / "tests" / "sizing"
    folder.mkdir(parents=True)
    kept = {"model": "m", "version": "0", "latency_ms": {"p95": 9}, "max_rps": 60}
    for number, place in enumerate(("ml.g5.xlarge", "laptop")):
        content = {**kept, "date": f"2026-11-2{number}", "measured_on": place}
        (folder / f"{place}.json").write_text(json.dumps(content))
    file = tmp_path / "fleets.json"
    command = ["size", "m", "--models", "100", "--traffic", "zipf:1.1", "--rps", "50"]
    assert read([*command, "--json", str(file)])() == 0
    printed = capsys.readouterr().out
    assert " of 60" in next(line for line in printed.splitlines() if "ml.g5.xlarge" in line)
    assert " of ?" in next(line for line in printed.splitlines() if "ml.m5.xlarge" in line)
    assert "laptop" not in printed
    assumptions = printed.partition("assumptions:\n")[2].splitlines()
    sources = ("unsourced", "ours", "guide", f"prices of {platform_facts.prices().date}")
    for line in assumptions:
        assert any(source in line for source in sources), line
    fleets = json.loads(file.read_text())
    assert fleets == sorted(fleets, key=lambda fleet: fleet["monthly_usd"])


@pytest.mark.parametrize(
    "wrong",
    [
        ["--traffic", "zipf"],
        ["--traffic", "uniform:1"],
        ["--hits", "1.5"],
        ["--instance", "ml.g9.xlarge=3"],
        ["--instance", "ml.g5.xlarge=-3"],
    ],
)
def test_wrong_options_of_a_fleet_are_usage_errors(wrong: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        read(["size", "--models", "9", "--rps", "5", *wrong])()
    assert ended.value.code == 2
