"""Publishes into CloudWatch what endpoints are measured by."""

import logging
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from typing import Any, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from local_sagemaker.metrics.collected import Collected, Series

MOST_VALUES, MOST_DATA = 150, 100
"""Different values of a datum, and data of a request. The API reference of PutMetricData allows
150, and 1000 within a megabyte."""

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Publisher:
    """Puts what was collected, by the ordinary API. `cloudwatch` is boto3's client.

    What CloudWatch does not take is lost, as on AWS: nothing is kept for later.
    """

    def __init__(self, collected: Collected, cloudwatch: Any) -> None:
        self._collected, self._cloudwatch = collected, cloudwatch

    def publish(self) -> None:
        """Put the periods that have ended."""
        series = sorted(self._collected.take(), key=lambda each: each.metric.namespace)
        for namespace, same in groupby(series, key=lambda each: each.metric.namespace):
            for data in _parts((datum for each in same for datum in _data(each)), MOST_DATA):
                try:
                    self._cloudwatch.put_metric_data(Namespace=namespace, MetricData=data)
                except (BotoCoreError, ClientError) as error:
                    _log.warning("metrics are not published: %s", error)


def _data(series: Series) -> Iterator[dict[str, Any]]:
    for values in _parts(series.values.items(), MOST_VALUES):
        yield {
            "MetricName": series.metric.name,
            "Dimensions": series.place.dimensions,
            "Timestamp": series.time,
            "Values": [value for value, _ in values],
            "Counts": [float(count) for _, count in values],
            "Unit": series.metric.unit,
        }


def _parts(items: Iterable[T], most: int) -> Iterator[list[T]]:
    left = iter(items)
    while part := list(islice(left, most)):
        yield part
