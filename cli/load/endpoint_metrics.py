"""CloudWatch metrics of the steps of a load test, by endpoint and variant.

Names and statistics: SageMaker's developer guide, monitoring-cloudwatch and
multi-model-endpoint-cloudwatch-metrics. CPUUtilization is the sum of all cores, GPUUtilization and
GPUMemoryUtilization of all GPUs (repost.aws/knowledge-center/sagemaker-cpu-gpu-utilization-100).
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from statistics import fmean
from typing import Any

import boto3

import platform_facts
from cli.load.deployed import DeployedEndpoint
from cli.load.step import LoadStep

REQUEST_NAMESPACE, INSTANCE_NAMESPACE = "AWS/SageMaker", "/aws/sagemaker/Endpoints"
METRICS = {
    "ModelLatency": (REQUEST_NAMESPACE, "Average"),
    "OverheadLatency": (REQUEST_NAMESPACE, "Average"),
    "ModelCacheHit": (REQUEST_NAMESPACE, "Average"),
    "ModelLoadingTime": (REQUEST_NAMESPACE, "SampleCount"),
    "ModelUnloadingTime": (REQUEST_NAMESPACE, "SampleCount"),
    "LoadedModelCount": (INSTANCE_NAMESPACE, "Maximum"),
    "CPUUtilization": (INSTANCE_NAMESPACE, "Average"),
    "GPUUtilization": (INSTANCE_NAMESPACE, "Average"),
    "MemoryUtilization": (INSTANCE_NAMESPACE, "Average"),
    "GPUMemoryUtilization": (INSTANCE_NAMESPACE, "Average"),
}
"""Metric name -> namespace and statistic."""
MICROSECONDS_PER_MS = 1000
MAX_WAIT_SECONDS = 180
"""Time limit of the wait for the metrics of the last minute, which are delayed: our choice."""


def add_metrics(
    endpoints: Sequence[DeployedEndpoint],
    steps: Sequence[LoadStep],
    sleep: Callable[[float], None] = time.sleep,
) -> list[LoadStep]:
    """Return the steps with their metrics; a metric without data is omitted.

    Latencies are in ms, percentages relate to a whole instance. The periods of a step are those
    that begin in it; if there is none, the period in which the step begins. The value of a step is
    the maximum of its periods for metrics of instances, the sum for loads and unloads, and the mean
    for others.
    """
    for endpoint in endpoints:
        for variant in endpoint.variants:
            points = _read_points(endpoint, variant, steps, sleep)
            name = f"{endpoint.name}/{variant}"
            steps = [
                replace(step, metrics={**step.metrics, name: _step_metrics(step, points, endpoint)})
                for step in steps
            ]
    return list(steps)


Points = dict[str, dict[datetime, float]]


def _read_points(
    endpoint: DeployedEndpoint,
    variant: str,
    steps: Sequence[LoadStep],
    sleep: Callable[[float], None],
) -> Points:
    """Return metric -> start of the period -> value; wait for the last period."""
    period = timedelta(seconds=endpoint.metric_seconds)
    start = _round_down(steps[0].start, period)
    last_period = _round_down(steps[-1].start + timedelta(seconds=steps[-1].seconds), period)
    queries = list(_queries(endpoint, variant))
    cloudwatch: Any = boto3.client("cloudwatch", endpoint.config.region)
    deadline = last_period + period + timedelta(seconds=MAX_WAIT_SECONDS)
    while True:
        now = datetime.now(UTC)
        pages = cloudwatch.get_paginator("get_metric_data").paginate(
            MetricDataQueries=queries, StartTime=start, EndTime=last_period + period
        )
        points: Points = {}
        for result in (result for page in pages for result in page["MetricDataResults"]):
            values = zip(result["Timestamps"], result["Values"], strict=True)
            points.setdefault(result["Label"], {}).update(values)
        complete = last_period in points.get("CPUUtilization", {})
        if (complete and now > last_period + period) or now > deadline:
            return points
        sleep(10)


def _queries(endpoint: DeployedEndpoint, variant: str) -> Iterator[dict[str, Any]]:
    period = endpoint.metric_seconds
    dimensions = {"EndpointName": endpoint.name, "VariantName": variant}
    for number, (name, (namespace, statistic)) in enumerate(METRICS.items()):
        metric = {
            "Namespace": namespace,
            "MetricName": name,
            "Dimensions": [{"Name": key, "Value": value} for key, value in dimensions.items()],
        }
        stat = {"Metric": metric, "Period": period, "Stat": statistic}
        yield {"Id": f"m{number}", "Label": name, "MetricStat": stat}


def _step_metrics(step: LoadStep, points: Points, endpoint: DeployedEndpoint) -> dict[str, float]:
    end, metrics = step.start + timedelta(seconds=step.seconds), dict[str, float]()
    first = _round_down(step.start, timedelta(seconds=endpoint.metric_seconds))
    divisors = _divisors(endpoint)
    for name, values in points.items():
        in_step = [value for start, value in values.items() if step.start <= start < end]
        in_step = in_step or [values[start] for start in (first,) if start in values]
        namespace, statistic = METRICS[name]
        combine = (
            max if namespace == INSTANCE_NAMESPACE else sum if statistic == "SampleCount" else fmean
        )
        if in_step:
            metrics[name] = round(combine(in_step) / divisors.get(name, 1), 2)
    return metrics


def _divisors(endpoint: DeployedEndpoint) -> dict[str, float]:
    """Return metric -> divisor, assuming that all instances have the first instance type."""
    facts = platform_facts.instance_type(next(iter(endpoint.instances)))
    cpus = (endpoint.is_local and os.cpu_count()) or facts.vcpus
    gpus = dict.fromkeys(("GPUUtilization", "GPUMemoryUtilization"), max(1, facts.gpu_count))
    latencies = dict.fromkeys(("ModelLatency", "OverheadLatency"), MICROSECONDS_PER_MS)
    return {"CPUUtilization": cpus, **gpus, **latencies}


def _round_down(time: datetime, period: timedelta) -> datetime:
    return datetime.fromtimestamp(time.timestamp() // period.seconds * period.seconds, UTC)
