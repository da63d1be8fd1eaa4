"""ministack's CloudWatch, which is reset for each test, and its operations."""

import importlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from ministack.services import cloudwatch as ministack

Record = dict[str, Any]
START = 1_800_000_000  # a full minute


@pytest.fixture
def cloudwatch() -> Iterator[Any]:
    """The reset CloudWatch module of ministack."""
    importlib.reload(ministack)
    yield ministack
    importlib.reload(ministack)


def ask(operation: str, **request: Any) -> tuple[int, Record]:
    """Return the status and the response of an operation."""
    status, _, body = getattr(ministack, operation)({}, request, is_cbor=False, is_json=True)
    return status, json.loads(body) if body else {}


def call(operation: str, **request: Any) -> Record:
    """Return the response of an operation that must succeed."""
    status, answer = ask(operation, **request)
    assert status == 200, answer
    return answer


def put(name: str, time: float = START, **members: Any) -> None:
    """Put data of the metric `name` in the namespace N."""
    datum = {"MetricName": name, "Timestamp": time, **members}
    call("_put_metric_data", Namespace="N", MetricData=[datum])


def put_alarm(**members: Any) -> None:
    """Put the alarm `a`, by default on the metric `m`."""
    defaults = {
        **{"AlarmName": "a", "Namespace": "N", "MetricName": "m", "Statistic": "Sum"},
        **{"EvaluationPeriods": 1, "Threshold": 5, "ComparisonOperator": "GreaterThanThreshold"},
    }
    call("_put_metric_alarm", **{**defaults, **members})


def describe_alarm() -> Record:
    (result,) = call("_describe_alarms", AlarmNames=["a"])["MetricAlarms"]
    return dict(result)
