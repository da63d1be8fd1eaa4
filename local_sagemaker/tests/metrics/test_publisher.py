"""Publishing of collected metrics with PutMetricData."""

from collections import Counter
from typing import Any

from botocore.exceptions import EndpointConnectionError

from local_sagemaker.metrics import names
from local_sagemaker.metrics.metric_buffer import MetricDimensions, Series
from local_sagemaker.metrics.publisher import Publisher

DIMENSIONS = MetricDimensions("text", "only")


class CloudWatch:
    """A fake client that records PutMetricData, or fails if `unreachable`."""

    def __init__(self) -> None:
        self.puts: list[tuple[str, list[dict[str, Any]]]] = []
        self.unreachable = False

    def put_metric_data(self, *, Namespace: str, MetricData: list[dict[str, Any]]) -> None:  # noqa: N803
        if self.unreachable:
            raise EndpointConnectionError(endpoint_url="http://nowhere")
        self.puts.append((Namespace, MetricData))


class FakeBuffer:
    """A fake `MetricBuffer` with completed series."""

    def __init__(self, *series: Series) -> None:
        self.series = list(series)

    def take(self) -> list[Series]:
        series, self.series = self.series, []
        return series


def publisher(cloudwatch: CloudWatch, *series: Series) -> Publisher:
    buffer: Any = FakeBuffer(*series)
    return Publisher(buffer, cloudwatch)


def test_metrics_are_dropped_if_cloudwatch_is_unreachable() -> None:
    cloudwatch = CloudWatch()
    publisher_ = publisher(cloudwatch, Series(names.INVOCATIONS, DIMENSIONS, 30, Counter({1.0: 1})))
    cloudwatch.unreachable = True
    publisher_.publish()
    cloudwatch.unreachable = False
    publisher_.publish()
    assert cloudwatch.puts == []
