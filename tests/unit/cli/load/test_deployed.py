"""Tests of the endpoint of a load test, and of `load` and `size` on it."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from cli.dispatch import parse_command
from cli.load import arguments, size
from cli.load.deployed import DeployedEndpoint
from cli.load.generator import Generator
from tests.processes import run_main
from tests.tritonsm import tritonsm
from tests.unit.cli.load.support import step

ENDPOINT = {
    "EndpointConfigName": "prod-text-1",
    "ProductionVariants": [{"VariantName": "AllTraffic", "CurrentInstanceCount": 2}],
}
VARIANT = {"VariantName": "AllTraffic", "InstanceType": "ml.g5.xlarge"}


class FakeSageMaker:
    """A fake of DescribeEndpoint and DescribeEndpointConfig."""

    def __init__(self) -> None:
        self.endpoint: dict[str, Any] = ENDPOINT
        self.meta = SimpleNamespace(endpoint_url="https://api.sagemaker.us-east-1.amazonaws.com")

    def describe_endpoint(self, **_: str) -> dict[str, Any]:
        return self.endpoint

    def describe_endpoint_config(self, **_: str) -> dict[str, Any]:
        return {"ProductionVariants": [{**VARIANT, "ModelName": "prod-text-1"}]}


@pytest.fixture
def sagemaker(monkeypatch: pytest.MonkeyPatch) -> FakeSageMaker:
    sagemaker = FakeSageMaker()
    monkeypatch.setattr(boto3, "client", lambda *_: sagemaker)
    return sagemaker


@pytest.fixture(autouse=True)
def _in_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[4])


def test_description_has_the_cost_per_hour(sagemaker: FakeSageMaker) -> None:
    endpoint = DeployedEndpoint.read("prod-text", Path("stages"))
    assert endpoint.description == (
        "prod-text: 2 x ml.g5.xlarge, 2.82 USD an hour by prices of 2025-02-03"
    )
    assert endpoint.is_production
    sagemaker.meta.endpoint_url = "http://127.0.0.1:4566"
    local = DeployedEndpoint.read("prod-text", Path("stages"))
    assert local.is_local
    assert not local.is_production


@pytest.mark.parametrize(
    "command",
    [
        ["load", "prod-text/minilm", "--rate", "1"],
        ["size", "minilm", "--endpoint", "prod-text", "--p95", "50"],
    ],
)
@pytest.mark.parametrize("answer", [None, ""])
def test_production_is_not_loaded_without_a_confirmation(
    sagemaker: FakeSageMaker,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
    answer: str | None,
) -> None:
    monkeypatch.setattr(Generator, "measure", lambda *_: pytest.fail("a load was sent"))
    monkeypatch.setattr("sys.stdin.isatty", lambda: answer is not None)
    monkeypatch.setattr("builtins.input", lambda _: answer)
    with pytest.raises(SystemExit) as raised:
        parse_command(command)()
    assert raised.value.code == 2
    output = capsys.readouterr()
    assert "2.82 USD an hour" in output.out
    assert "loading production needs a confirmation" in output.err


def test_missed_objective_in_the_first_step_has_exit_code_1(
    sagemaker: FakeSageMaker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    p95 = 10.0

    async def measure(*_: Any) -> list[Any]:
        return [step(5, p95=p95), step(10, p95=500)]

    monkeypatch.setattr(Generator, "measure", measure)
    file = tmp_path / "load.json"
    command = ["load", "prod-text/minilm", "--rate", "5", "--p95", "50", "--yes", "--json"]
    assert parse_command([*command, str(file)])() == 0
    result = json.loads(file.read_text())
    assert result["mix"] == {"prod-text/minilm": 1.0}
    assert result["objective"] == {"p95": 50, "p99": None, "max_errors": 0.01}
    assert [saved["latency_ms"]["p95"] for saved in result["steps"]] == [10, 500]
    p95 = 51
    assert parse_command([*command, str(file)])() == 1


@pytest.fixture
def sizing_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sagemaker: FakeSageMaker
) -> Path:
    """Return the folder of results, for two instances that sustain 100 requests per second."""

    async def measure(*_: Any) -> list[Any]:
        return [step(100, p95=38), step(200, p95=500)]

    client = SimpleNamespace(resolve=lambda _: SimpleNamespace(version="fd7fc2b15569"))
    monkeypatch.setattr(Generator, "measure", measure)
    monkeypatch.setattr(DeployedEndpoint, "client", lambda _: client)
    metrics = {"prod-text/AllTraffic": {"GPUUtilization": 97.0}}
    monkeypatch.setattr(
        size, "add_metrics", lambda _, steps: [replace(step, metrics=metrics) for step in steps]
    )
    monkeypatch.setattr(arguments, "MODELS", tmp_path)
    (tmp_path / "minilm").mkdir()
    return tmp_path / "minilm" / "tests" / "sizing"


SIZE = ["size", "minilm", "--endpoint", "prod-text", "--p95", "50", "--peak-rps", "100", "--yes"]


def test_size_saves_the_rate_of_one_instance(sizing_folder: Path) -> None:
    printed = run_main(tritonsm, *SIZE).stdout
    assert "minilm fd7fc2b15569 on ml.g5.xlarge: 50 requests per second and instance" in printed
    assert "limited by: GPU (GPUUtilization 97 %)" in printed
    assert "scaling: { min_count: 2, max_count: 4, max_rps: 50 }" in printed
    [file] = sizing_folder.iterdir()
    saved = json.loads(file.read_text())
    assert (saved["measured_on"], saved["max_rps"], saved["release"]) == (
        "ml.g5.xlarge",
        50,
        "25.09",
    )
