"""Publishing of collected metrics with PutMetricData."""

from collections import Counter
from typing import Any
from unittest.mock import Mock

from botocore.exceptions import EndpointConnectionError

from local_sagemaker.metrics import names
from local_sagemaker.metrics.metric_buffer import MetricDimensions, Series
from local_sagemaker.metrics.publisher import Publisher


def test_metrics_are_dropped_if_cloudwatch_is_unreachable() -> None:
    series = Series(names.INVOCATIONS, MetricDimensions("text", "only"), 30, Counter({1.0: 1}))
    buffer: Any = Mock(take=Mock(side_effect=[[series], [series], []]))
    cloudwatch: Any = Mock()
    cloudwatch.put_metric_data.side_effect = [EndpointConnectionError(endpoint_url="x"), None]
    publisher = Publisher(buffer, cloudwatch)
    for _ in range(3):
        publisher.publish()
    assert cloudwatch.put_metric_data.call_count == 2
