"""Client metrics of endpoint_client on the dashboard of triton_sagemaker.

Neither package imports the other.
"""

import json

import pytest
from aws_cdk.assertions import Template

from endpoint_client import CatalogEntry, ModelCall
from endpoint_client.metrics import NAMESPACE, EmfLogger
from stacks.endpoint_stack import CLIENT_NAMESPACE
from tests.synth.conftest import templates_of
from tests.unit.endpoint_client.conftest import entry_text
from triton_sagemaker.charts import CLIENT_CHARTS, CLIENT_DIMENSIONS


def test_dashboard_searches_metrics_that_clients_publish(
    capsys: pytest.CaptureFixture[str],
) -> None:
    EmfLogger()(ModelCall(CatalogEntry.parse(entry_text()), 0.25, None))
    (metrics,) = json.loads(capsys.readouterr().out)["_aws"]["CloudWatchMetrics"]
    assert metrics["Namespace"] == NAMESPACE == CLIENT_NAMESPACE
    assert metrics["Dimensions"] == [list(CLIENT_DIMENSIONS)]
    charted_metrics = {name for chart in CLIENT_CHARTS.values() for name in chart}
    assert {metric["Name"] for metric in metrics["Metrics"]} == charted_metrics


def test_stage_setting_enables_client_metrics_row() -> None:
    for stage, stack, charts in (("pooled", "pooled-text", 4), ("plain", "plain-volumes", 0)):
        template = Template.from_json(templates_of(stage)[stack])
        (dashboard,) = template.find_resources("AWS::CloudWatch::Dashboard").values()
        body = json.dumps(dashboard["Properties"]["DashboardBody"])
        assert body.count(f"{{{NAMESPACE},Endpoint,Model}}") == charts
