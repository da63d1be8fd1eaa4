"""The dashboard's row of what clients measure. Neither package imports the other."""

import json

import pytest

from endpoint_client import CatalogEntry, ModelCall
from endpoint_client.metrics import NAMESPACE, EmfLogger
from stages.plan import CLIENT_NAMESPACE
from tests.synth.endpoints import Scene
from tests.unit.endpoint_client.conftest import parameter
from triton_sagemaker.charts import CLIENT_DIMENSIONS, CLIENT_METRICS


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_the_dashboard_searches_for_what_the_client_writes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    EmfLogger()(ModelCall(CatalogEntry.parse(parameter()), 0.25, None))
    (metrics,) = json.loads(capsys.readouterr().out)["_aws"]["CloudWatchMetrics"]
    assert metrics["Namespace"] == NAMESPACE == CLIENT_NAMESPACE
    assert metrics["Dimensions"] == [list(CLIENT_DIMENSIONS)]
    drawn = {name for chart in CLIENT_METRICS.values() for name in chart}
    assert {metric["Name"] for metric in metrics["Metrics"]} == drawn


def test_a_row_by_model_is_drawn_where_clients_publish_metrics(scene: Scene) -> None:
    scene.endpoint().monitor(client_metrics="Shop")
    body = json.dumps(scene.properties("AWS::CloudWatch::Dashboard")["DashboardBody"])
    assert body.count("{Shop,Endpoint,Model}") == 4
    for statistic in ("Sum", "p50", "p99"):
        assert f"'{statistic}', 60" in body


def test_no_row_of_clients_is_drawn_by_default(scene: Scene) -> None:
    scene.endpoint().monitor()
    assert "Clients" not in json.dumps(scene.properties("AWS::CloudWatch::Dashboard"))
