"""Client metrics of endpoint_client on the dashboard of triton_sagemaker.

Neither package imports the other.
"""

import json
from pathlib import Path

import pytest
from aws_cdk import App, Stack
from aws_cdk.assertions import Template

from endpoint_client import CatalogEntry, ModelCall
from endpoint_client.metrics import NAMESPACE, EmfLogger
from stacks.endpoint_stack import CLIENT_NAMESPACE
from stages import load_stage
from tests.synth.conftest import CONTEXT, add_stage
from tests.synth.endpoints import SampleStack
from tests.unit.endpoint_client.conftest import entry_text
from triton_sagemaker.charts import CLIENT_CHARTS, CLIENT_DIMENSIONS

STAGE = """
account: "123456789012"
region: us-east-1
release: "25.09"
production: true
notify: { topics: ["arn:aws:sns:us-east-1:123456789012:on-call"] }
endpoints:
  text:
    models: [minilm]
    instance_type: ml.g5.xlarge
    instance_count: 2
"""


def test_dashboard_searches_metrics_that_clients_publish(
    capsys: pytest.CaptureFixture[str],
) -> None:
    EmfLogger()(ModelCall(CatalogEntry.parse(entry_text()), 0.25, None))
    (metrics,) = json.loads(capsys.readouterr().out)["_aws"]["CloudWatchMetrics"]
    assert metrics["Namespace"] == NAMESPACE == CLIENT_NAMESPACE
    assert metrics["Dimensions"] == [list(CLIENT_DIMENSIONS)]
    charted_metrics = {name for chart in CLIENT_CHARTS.values() for name in chart}
    assert {metric["Name"] for metric in metrics["Metrics"]} == charted_metrics


def test_client_metrics_have_a_dashboard_row(sample: SampleStack) -> None:
    sample.endpoint().monitor(client_metrics="Shop")
    body = json.dumps(sample.properties("AWS::CloudWatch::Dashboard")["DashboardBody"])
    assert body.count("{Shop,Endpoint,Model}") == 4
    for statistic in ("Sum", "p50", "p99"):
        assert f"'{statistic}', 60" in body


@pytest.mark.parametrize(("setting", "charts"), [("true", 4), ("false", 0)])
def test_stage_setting_enables_client_metrics_row(
    tmp_path: Path, setting: str, charts: int
) -> None:
    (tmp_path / "shop.yaml").write_text(f"{STAGE}    client_metrics: {setting}\n")
    app = App(context=CONTEXT)
    add_stage(app, "shop", load_stage("shop", tmp_path))
    stack = app.node.find_child("shop-text")
    assert isinstance(stack, Stack)
    dashboards = Template.from_stack(stack).find_resources("AWS::CloudWatch::Dashboard")
    (dashboard,) = dashboards.values()
    body = json.dumps(dashboard["Properties"]["DashboardBody"])
    assert body.count(f"{{{NAMESPACE},Endpoint,Model}}") == charts
