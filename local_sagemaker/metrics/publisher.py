"""Publishing of collected metrics to CloudWatch."""

import logging
from itertools import groupby
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from local_sagemaker.metrics.metric_buffer import MetricBuffer, Series

_log = logging.getLogger(__name__)


class Publisher:
    """Sends collected values with PutMetricData. `cloudwatch` is boto3's client.

    Values are lost if the request fails; there is no retry.
    """

    def __init__(self, collected: MetricBuffer, cloudwatch: Any) -> None:
        self._collected, self._cloudwatch = collected, cloudwatch

    def publish(self) -> None:
        """Publish the values of completed periods."""
        series = sorted(self._collected.take(), key=lambda values: values.metric.namespace)
        for namespace, same in groupby(series, key=lambda values: values.metric.namespace):
            data = [_datum(values) for values in same]
            try:
                self._cloudwatch.put_metric_data(Namespace=namespace, MetricData=data)
            except (BotoCoreError, ClientError) as error:
                _log.warning("metrics are not published: %s", error)


def _datum(series: Series) -> dict[str, Any]:
    return {
        "MetricName": series.metric.name,
        "Dimensions": series.place.dimensions,
        "Timestamp": series.time,
        "Values": list(series.values),
        "Counts": [float(count) for count in series.values.values()],
        "Unit": series.metric.unit,
    }
