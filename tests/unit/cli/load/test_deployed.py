"""The endpoint that is loaded, what it costs, and who may load it."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from cli.dispatch import read
from cli.load import arguments, size
from cli.load.deployed import DeployedEndpoint, may_be_loaded
from cli.load.generator import Generator
from stages import load_stage
from tests.unit.cli.load.support import step

DESCRIBED = {
    "EndpointConfigName": "prod-text-1",
    "ProductionVariants": [{"VariantName": "AllTraffic", "CurrentInstanceCount": 2}],
}
VARIANT = {"VariantName": "AllTraffic", "InstanceType": "ml.g5.xlarge"}
COMPONENTS = """
region: us-east-1
release: "24.09"
unconfirmed: [components]
endpoints:
  night:
    models: [minilm]
    hosting: components
    instance_type: ml.g5.xlarge
    instances: { min: 0, max: 2 }
    components: { minilm: { copies: { min: 1, max: 1 }, memory_mb: 1024, accelerators: 1 } }
"""


class FakeSageMaker:
    """Answers as the API references of DescribeEndpoint and DescribeEndpointConfig have it."""

    def __init__(self) -> None:
        self.described: dict[str, Any] = DESCRIBED
        self.configured: dict[str, Any] = {**VARIANT, "ModelName": "prod-text-1"}
        self.names: list[str] = []
        self.meta = SimpleNamespace(endpoint_url="https://api.sagemaker.us-east-1.amazonaws.com")

    def describe_endpoint(self, **request: str) -> dict[str, Any]:
        self.names.append(request["EndpointName"])
        return self.described

    def describe_endpoint_config(self, **_: str) -> dict[str, Any]:
        return {"ProductionVariants": [self.configured]}


@pytest.fixture
def sagemaker(monkeypatch: pytest.MonkeyPatch) -> FakeSageMaker:
    fake = FakeSageMaker()
    monkeypatch.setattr(boto3, "client", lambda *_: fake)
    return fake


@pytest.fixture(autouse=True)
def _from_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[4])


def test_an_endpoint_is_shown_with_its_cost_an_hour(sagemaker: FakeSageMaker) -> None:
    endpoint = DeployedEndpoint.read("prod-text", Path("stages"))
    assert endpoint.described == (
        "prod-text: 2 x ml.g5.xlarge, 2.82 USD an hour by prices of 2025-02-03"
    )
    assert endpoint.is_production
    sagemaker.meta.endpoint_url = "http://127.0.0.1:4566"
    local = DeployedEndpoint.read("prod-text", Path("stages"))
    assert local.is_laptop
    assert not local.is_production


def test_instances_of_pools_are_counted_by_type(sagemaker: FakeSageMaker) -> None:
    pools = [
        {"InstanceType": "ml.g5.xlarge", "CurrentInstanceCount": 1},
        {"InstanceType": "ml.g6.2xlarge", "CurrentInstanceCount": 3},
    ]
    variant = {"VariantName": "AllTraffic", "CurrentInstanceCount": 4, "InstancePools": pools}
    sagemaker.described = DESCRIBED | {"ProductionVariants": [variant]}
    endpoint = DeployedEndpoint.read("prod-text", Path("stages"))
    assert endpoint.instances == {"ml.g5.xlarge": 1, "ml.g6.2xlarge": 3}


def test_an_endpoint_of_components_has_another_name_at_sagemaker_and_is_not_sized(
    sagemaker: FakeSageMaker,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "dev.yaml").write_text(COMPONENTS)
    sagemaker.configured = VARIANT
    endpoint = DeployedEndpoint.read("dev-night", tmp_path)
    assert sagemaker.names == ["dev-night-g5-xlarge"]
    assert (endpoint.short_name, endpoint.variants) == ("night", ())
    monkeypatch.setattr(arguments, "STAGES", tmp_path)
    monkeypatch.setattr(Generator, "measure", lambda *_: pytest.fail("it was loaded"))
    assert read(["size", "minilm", "--endpoint", "dev-night", "--p95", "50"])() == 1
    refused = capsys.readouterr().err
    assert "dev-night hosts inference components, which scale by copies" in refused
    assert "tritonsm load dev-night/minilm" in refused


@pytest.mark.parametrize(
    ("yes", "answer", "allowed"),
    [(True, None, True), (False, "y", True), (False, "", False), (False, None, False)],
)
def test_production_is_loaded_only_with_a_yes(
    monkeypatch: pytest.MonkeyPatch, yes: bool, answer: str | None, allowed: bool
) -> None:
    production, other = (
        DeployedEndpoint(
            name=f"{stage}-text",
            stage=stage,
            config=load_stage(stage),
            instances={},
            variants=(),
            is_laptop=False,
        )
        for stage in ("prod", "dev")
    )
    monkeypatch.setattr("sys.stdin.isatty", lambda: answer is not None)
    monkeypatch.setattr("builtins.input", lambda _: answer)
    assert may_be_loaded([other, production], yes=yes) is allowed
    assert may_be_loaded([other], yes=False)


@pytest.mark.parametrize(
    "command",
    [
        ["load", "prod-text/minilm", "--rate", "1"],
        ["size", "minilm", "--endpoint", "prod-text", "--p95", "50"],
    ],
)
def test_a_script_without_a_yes_sends_production_nothing(
    sagemaker: FakeSageMaker,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
) -> None:
    monkeypatch.setattr(Generator, "measure", lambda *_: pytest.fail("it was loaded"))
    monkeypatch.setattr("sys.stdin.isatty", lambda: False)
    with pytest.raises(SystemExit) as ended:
        read(command)()
    assert ended.value.code == 2
    printed = capsys.readouterr()
    assert "2.82 USD an hour" in printed.out
    assert "production is not loaded without a yes" in printed.err


def test_a_load_exits_with_1_where_the_first_step_breaks(
    sagemaker: FakeSageMaker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    p95 = 10.0

    async def measure(*_: Any) -> list[Any]:
        return [step(5, p95=p95), step(10, p95=500)]

    monkeypatch.setattr(Generator, "measure", measure)
    file = tmp_path / "load.json"
    command = ["load", "prod-text/minilm", "--rate", "5", "--p95", "50", "--yes", "--json"]
    assert read([*command, str(file)])() == 0
    result = json.loads(file.read_text())
    assert result["mix"] == {"prod-text/minilm": 1.0}
    assert result["objective"] == {"p95": 50, "p99": None, "max_errors": 0.01}
    assert [kept["latency_ms"]["p95"] for kept in result["steps"]] == [10, 500]
    p95 = 51
    assert read([*command, str(file)])() == 1


@pytest.fixture
def sized(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sagemaker: FakeSageMaker) -> Path:
    """A folder of models, and two instances that sustain 100 requests a second."""

    async def measure(*_: Any) -> list[Any]:
        return [step(100, p95=38), step(200, p95=500)]

    client = SimpleNamespace(resolve=lambda _: SimpleNamespace(version="fd7fc2b15569"))
    monkeypatch.setattr(Generator, "measure", measure)
    monkeypatch.setattr(DeployedEndpoint, "client", lambda _: client)
    metrics = {"prod-text/AllTraffic": {"GPUUtilization": 97.0}}
    monkeypatch.setattr(
        size, "with_metrics", lambda _, steps: [replace(step, metrics=metrics) for step in steps]
    )
    monkeypatch.setattr(arguments, "MODELS", tmp_path)
    (tmp_path / "minilm").mkdir()
    return tmp_path / "minilm" / "tests" / "sizing"


SIZE = ["size", "minilm", "--endpoint", "prod-text", "--p95", "50", "--peak-rps", "100", "--yes"]


def test_size_is_of_one_instance_and_kept(sized: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert read(SIZE)() == 0
    printed = capsys.readouterr().out
    assert "minilm fd7fc2b15569 on ml.g5.xlarge: 50 requests a second an instance" in printed
    assert "limited by: GPU (GPUUtilization 97 %)" in printed
    assert "scaling: { min_count: 2, max_count: 4, max_rps: 50 }" in printed
    [file] = sized.iterdir()
    kept = json.loads(file.read_text())
    assert (kept["measured_on"], kept["max_rps"], kept["release"]) == ("ml.g5.xlarge", 50, "25.09")


def test_an_endpoint_that_scaled_meanwhile_is_not_sized(
    sized: Path,
    sagemaker: FakeSageMaker,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def measure(*_: Any) -> list[Any]:
        variant = {"VariantName": "AllTraffic", "CurrentInstanceCount": 3}
        sagemaker.described = DESCRIBED | {"ProductionVariants": [variant]}
        return [step(100, p95=38)]

    monkeypatch.setattr(Generator, "measure", measure)
    assert read(SIZE)() == 1
    assert "prod-text scaled during the test" in capsys.readouterr().err
    assert not sized.exists()


def test_wrong_numbers_are_usage_errors(capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in ("--rate=0", "--rate=nan", "--callers=0", "--callers=257"):
        with pytest.raises(SystemExit) as ended:
            read(["load", "dev-text/minilm", wrong])()
        assert ended.value.code == 2
    for wrong in ("--steps=0", "--growth=1", "--mix=mix.yaml"):
        with pytest.raises(SystemExit) as ended:
            read(["load", "dev-text/minilm", "--rate=1", wrong])()
        assert ended.value.code == 2
    assert "--growth 1: write more than 1" in capsys.readouterr().err


def test_an_endpoint_of_no_stage_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert read(["load", "elsewhere/minilm", "--rate", "1"])() == 1
    assert "endpoint elsewhere does not begin with the name of a stage" in capsys.readouterr().err
