"""Tests of the CloudWatch metrics of the steps of a load test."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest

from cli.load import endpoint_metrics
from cli.load.deployed import DeployedEndpoint
from cli.load.endpoint_metrics import add_metrics
from stages import load_stage
from tests.unit.cli.load.support import START, step

MINUTE = timedelta(minutes=1)
FIRST = START.replace(second=0)
STAGES = Path(__file__).parents[4] / "stages"


class FakeCloudWatch:
    """A fake with values by label and minute.

    The first request returns only the first minute, as if the other values were delayed.
    """

    def __init__(self, **values: list[float]) -> None:
        self.values, self.requests = values, list[dict[str, Any]]()

    def get_paginator(self, operation: str) -> "FakeCloudWatch":
        assert operation == "get_metric_data"
        return self

    def paginate(self, **request: Any) -> list[dict[str, Any]]:
        self.requests.append(request)
        minutes = 1 if len(self.requests) == 1 else 99
        results = [
            {
                "Label": query["Label"],
                "Timestamps": [FIRST + number * MINUTE for number in range(len(values))],
                "Values": values,
            }
            for query in request["MetricDataQueries"]
            if (values := self.values.get(query["Label"], [])[:minutes])
        ]
        return [{"MetricDataResults": results[:1]}, {"MetricDataResults": results[1:]}]


def endpoint(**changes: Any) -> DeployedEndpoint:
    values: dict[str, Any] = {
        "name": "prod-text",
        "stage": "prod",
        "config": load_stage("prod", STAGES),
        "instances": {"ml.g5.xlarge": 1},
        "variants": ("AllTraffic",),
        "is_local": False,
    }
    return DeployedEndpoint(**values | changes)


def metrics(
    monkeypatch: pytest.MonkeyPatch, cloudwatch: FakeCloudWatch, *seconds: float
) -> list[dict[str, float]]:
    """Return the metrics of consecutive steps; the first starts 30 seconds after a full minute."""
    monkeypatch.setattr(boto3, "client", lambda *_: cloudwatch)
    monkeypatch.setattr(endpoint_metrics, "MAX_WAIT_SECONDS", 1e9)
    starts = [START + timedelta(seconds=sum(seconds[:n])) for n in range(len(seconds))]
    steps = [
        step(1, start=start, seconds=duration)
        for start, duration in zip(starts, seconds, strict=True)
    ]
    pauses: list[float] = []
    measured = add_metrics([endpoint()], steps, pauses.append)
    assert pauses == [10]  # a wait for the last minute
    assert [list(result.metrics) for result in measured] == [["prod-text/AllTraffic"]] * len(steps)
    return [result.metrics["prod-text/AllTraffic"] for result in measured]


def test_step_has_the_minutes_that_begin_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cloudwatch = FakeCloudWatch(
        CPUUtilization=[0, 100, 360, 40, 20],
        ModelLatency=[0, 10000, 8000, 1000, 500],
        ModelUnloadingTime=[50, 2, 3, 7, 0],
    )
    first, second = metrics(monkeypatch, cloudwatch, 120, 60)
    # The maximum divided by 4 vCPUs, the mean in ms, and the sum.
    assert first == {"CPUUtilization": 90, "ModelLatency": 9, "ModelUnloadingTime": 5}
    assert second == {"CPUUtilization": 10, "ModelLatency": 1, "ModelUnloadingTime": 7}
