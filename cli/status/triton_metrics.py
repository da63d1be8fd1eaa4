"""Triton's own counters by model, where a stage has `publish_metrics`."""

from collections.abc import Iterable
from operator import attrgetter
from typing import Any

from cli.status.metrics import MOST_QUERIES, Window
from cli.status.report import Requests

COUNTERS = {
    "answered": "nv_inference_request_success",
    "failed": "nv_inference_request_failure",
}
"""Triton user guide, "Metrics"."""


def requests_by_model(cloudwatch: Any, endpoints: Iterable[str], window: Window) -> list[Requests]:
    """Return the requests of each series that CloudWatch has. Raises `ClientError`.

    No source says which dimensions the image's agent gives them: a search finds all of a name, and
    labels each by what differs (CloudWatch user guide, "CloudWatch search expression syntax").
    """
    searches = [(endpoint, result) for endpoint in endpoints for result in COUNTERS]
    queries = [
        {"Id": f"s{number}", "Expression": _search(*search, window.period)}
        for number, search in enumerate(searches)
    ]
    requests = []
    for start in range(0, len(queries), MOST_QUERIES):
        pages = cloudwatch.get_paginator("get_metric_data").paginate(
            MetricDataQueries=queries[start : start + MOST_QUERIES],
            StartTime=window.since,
            EndTime=window.until,
        )
        for series in (series for page in pages for series in page["MetricDataResults"]):
            endpoint, result = searches[int(series["Id"][1:])]
            if series["Values"]:
                requests.append(Requests(endpoint, series["Label"], result, sum(series["Values"])))
    return sorted(requests, key=attrgetter("endpoint", "label", "result"))


def _search(endpoint: str, result: str, period: int) -> str:
    name = f'Namespace="Triton/{endpoint}" MetricName="{COUNTERS[result]}"'
    return f"SEARCH('{name}', 'Sum', {period})"
