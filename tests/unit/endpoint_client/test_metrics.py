"""Lines of `EmfLogger`."""

import json
from types import SimpleNamespace

import pytest

from endpoint_client import CatalogEntry, ModelCall, ModelFailed
from endpoint_client.metrics import EmfLogger
from tests.unit.endpoint_client.conftest import entry_text


@pytest.mark.parametrize("error", [None, ModelFailed("no memory", status=507)])
def test_line_has_metrics_dimensions_and_error(
    capsys: pytest.CaptureFixture[str], error: ModelFailed | None
) -> None:
    EmfLogger()(ModelCall(CatalogEntry.parse(entry_text()), 0.25, error))
    line = json.loads(capsys.readouterr().out)
    (metrics,) = line["_aws"]["CloudWatchMetrics"]
    assert metrics["Namespace"] == "Triton/Client"
    assert metrics["Dimensions"] == [["Endpoint", "Model"]]
    units = {metric["Name"]: metric["Unit"] for metric in metrics["Metrics"]}
    assert units == {"Requests": "Count", "Errors": "Count", "Latency": "Milliseconds"}
    dimensions = (line["Endpoint"], line["Model"], line["version"])
    assert dimensions == ("prod-text", "minilm", "0123456789ab")
    values = (line["Requests"], line["Errors"], line["Latency"])
    assert values == ([1.0], [float(error is not None)], [250.0])
    assert line.get("error") == (error and "ModelFailed: no memory")


def test_line_is_a_single_write(monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[str] = []
    stdout = SimpleNamespace(write=writes.append, flush=lambda: None)
    monkeypatch.setattr("sys.stdout", stdout)
    EmfLogger(namespace="Shop")(ModelCall(CatalogEntry.parse(entry_text()), 0.25, None))
    (line,) = filter(None, writes)
    assert line.endswith("}\n")
    assert json.loads(line)["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "Shop"
