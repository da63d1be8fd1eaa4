import json
from types import SimpleNamespace

import pytest

from endpoint_client import CatalogEntry, ModelCall, ModelFailed
from endpoint_client.metrics import EmfLogger
from tests.unit.endpoint_client.conftest import parameter


@pytest.mark.parametrize("error", [None, ModelFailed("no memory", status=507)])
def test_a_call_is_one_line_that_cloudwatch_reads(
    capsys: pytest.CaptureFixture[str], error: ModelFailed | None
) -> None:
    EmfLogger()(ModelCall(CatalogEntry.parse(parameter()), 0.25, error))
    line = json.loads(capsys.readouterr().out)
    (metrics,) = line["_aws"]["CloudWatchMetrics"]
    assert metrics["Namespace"] == "Triton/Client"
    assert metrics["Dimensions"] == [["Endpoint", "Model"]]
    assert {metric["Name"]: metric["Unit"] for metric in metrics["Metrics"]} == {
        "Requests": "Count",
        "Errors": "Count",
        "Latency": "Milliseconds",
    }
    assert (line["Endpoint"], line["Model"], line["version"]) == (
        "prod-text",
        "minilm",
        "0123456789ab",
    )
    assert (line["Requests"], line["Errors"], line["Latency"]) == (
        [1.0],
        [float(error is not None)],
        [250.0],
    )
    assert line.get("error") == (error and "ModelFailed: no memory")


def test_a_line_is_written_at_once_for_other_threads_write_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    writes: list[str] = []
    stdout = SimpleNamespace(write=writes.append, flush=lambda: None)
    monkeypatch.setattr("sys.stdout", stdout)
    EmfLogger()(ModelCall(CatalogEntry.parse(parameter()), 0.25, None))
    (line,) = filter(None, writes)
    assert line.endswith("}\n")


def test_calls_of_many_models_are_lines_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    write = EmfLogger(namespace="Shop")
    for model in ("a", "b"):
        write(ModelCall(CatalogEntry.parse(parameter(model)), 1, None))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["Model"] for line in lines] == ["a", "b"]
    assert lines[0]["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "Shop"
