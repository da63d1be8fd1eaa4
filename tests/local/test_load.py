"""The command `tritonsm load` against a real Triton."""

import json
from pathlib import Path

import boto3
import pytest

from cli.dispatch import parse_command
from local_sagemaker.tests.support.endpoints import create_endpoint, multi_model
from local_sagemaker.tests.support.running import LocalSageMaker
from local_sagemaker.tests.support.tiny_models import pack_python, times
from plan.catalog import Catalog
from tests.catalog_items import create_table, write_entry
from tests.local.invoking import NUMBER_SIGNATURE

pytestmark = pytest.mark.drill

TARGETS = "local-text/twice", "local-text/thrice"


@pytest.fixture(scope="module", autouse=True)
def _endpoint(local_sagemaker: LocalSageMaker, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Endpoint `text` of the stage `local`, with two models that are not loaded."""
    folder, s3 = tmp_path_factory.mktemp("models"), boto3.client("s3")
    s3.create_bucket(Bucket="load-models")
    catalog = Catalog(boto3.client("dynamodb"), "local", "text")
    create_table(catalog.dynamodb, "local")
    for factor, target in enumerate(TARGETS, 2):
        model = target.partition("/")[2]
        archive = pack_python(folder / model / "times", times(factor))
        s3.put_object(Bucket="load-models", Key=f"text/{model}.tar.gz", Body=archive)
        entry = {"model": model, "version": "0", "endpoint": "local-text"}
        entry["target_model"] = f"{model}.tar.gz"
        write_entry(catalog, {**entry, "signature": NUMBER_SIGNATURE})
    create_endpoint("local-text", multi_model("s3://load-models/text/"))


@pytest.mark.parametrize("level", ["--rate", "--callers"])
def test_load_of_two_models_measures_its_steps(level: str, tmp_path: Path) -> None:
    file = tmp_path / "load.json"
    options = ["--steps", "2", "--seconds", "2", "--json", str(file)]
    assert parse_command(["load", *TARGETS, level, "4", *options])() == 0
    report = json.loads(file.read_text())
    assert report["mix"] == dict.fromkeys(TARGETS, 0.5)
    assert "no cost" in report["endpoints"]["local-text"]
    assert [step["level"] for step in report["steps"]] == [4, 6]
    for step in report["steps"]:
        assert step["errors"] == {}
        assert step["requests"] > 0
        assert step["achieved_rps"] > 0
        latencies = [step["latency_ms"][name] for name in ("p50", "p95", "p99", "max")]
        assert latencies[0] > 0
        assert latencies == sorted(latencies)


def test_html_report_has_the_metrics_of_each_step(tmp_path: Path) -> None:
    page, file = tmp_path / "load.html", tmp_path / "load.json"
    options = ["--steps", "2", "--seconds", "6", "--html", str(page), "--json", str(file)]
    assert parse_command(["load", *TARGETS, "--rate", "8", *options])() == 0
    for step in json.loads(file.read_text())["steps"]:
        metrics = step["metrics"]["local-text/AllTraffic"]
        assert metrics["LoadedModelCount"] == 2
        assert metrics["ModelCacheHit"] == 1
        assert 0 < metrics["ModelLatency"] < step["latency_ms"]["max"]
        assert metrics["CPUUtilization"] > 0
    assert '"LoadedModelCount": 2' in page.read_text()
