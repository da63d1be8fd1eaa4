"""Publishing of metrics to CloudWatch."""

import logging
from itertools import groupby
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from local_sagemaker.metrics.metric_buffer import MetricBuffer, Series

_log = logging.getLogger(__name__)


class Publisher:
    """Sends the values of a buffer with PutMetricData. `cloudwatch` is the boto3 client.

    Values are lost if the request fails; there is no retry.
    """

    def __init__(self, buffer: MetricBuffer, cloudwatch: Any) -> None:
        self._buffer, self._cloudwatch = buffer, cloudwatch

    def publish(self) -> None:
        """Publish the values of completed periods."""
        all_series = sorted(self._buffer.take(), key=lambda series: series.metric.namespace)
        for namespace, group in groupby(all_series, key=lambda series: series.metric.namespace):
            data = [_metric_datum(series) for series in group]
            try:
                self._cloudwatch.put_metric_data(Namespace=namespace, MetricData=data)
            except (BotoCoreError, ClientError) as error:
                _log.warning("metrics are not published: %s", error)


def _metric_datum(series: Series) -> dict[str, Any]:
    return {
        "MetricName": series.metric.name,
        "Dimensions": series.dimensions.to_aws(),
        "Timestamp": series.time,
        "Values": list(series.values),
        "Counts": [float(count) for count in series.values.values()],
        "Unit": series.metric.unit,
    }
