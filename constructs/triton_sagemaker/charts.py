"""The charts of a dashboard, with the alarms of their metrics."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from aws_cdk import aws_cloudwatch as cloudwatch

from triton_sagemaker.alarm_thresholds import AlarmThresholds
from triton_sagemaker.chart import MICROSECONDS_PER_MS, AlarmedMetric, Chart
from triton_sagemaker.endpoint_metrics import MINUTE, EndpointMetrics

if TYPE_CHECKING:
    from triton_sagemaker.variant import Variant

TRITON_CHARTS = {
    "Triton: requests by model": ("nv_inference_request_success", "nv_inference_request_failure"),
    "Triton: queue and compute time by model (microseconds)": (
        "nv_inference_queue_duration_us",
        "nv_inference_compute_infer_duration_us",
    ),
}
"""Charts of Triton's own metrics (triton-inference-server/server, docs/user_guide/metrics.md)."""
CLIENT_DIMENSIONS = "Endpoint", "Model"
CLIENT_CHARTS = {
    "Clients: requests by model": {"Requests": ["Sum"]},
    "Clients: errors by model": {"Errors": ["Sum"]},
    "Clients: latency by model (milliseconds)": {"Latency": ["p50", "p99"]},
}
"""Charts of the metrics of `endpoint_client.metrics.EmfLogger`, with their statistics."""


def request_charts(metrics: EndpointMetrics, thresholds: AlarmThresholds) -> Iterator[Chart]:
    """Yield the charts of traffic, errors and latency."""
    yield Chart("Traffic (per minute)", other_metrics=metrics.traffic)
    yield Chart(
        "Errors (share of requests)",
        [
            AlarmedMetric("ServerErrors", "share of 5xx answers",
                          metrics.metric_server_error_rate(), thresholds.server_error_rate),
            AlarmedMetric("ClientErrors", "share of 4xx answers",
                          metrics.metric_client_error_rate(), thresholds.client_error_rate),
            AlarmedMetric("ModelErrors", "share of requests that failed in the container",
                          metrics.metric_model_error_rate(), thresholds.model_error_rate),
        ],
    )  # fmt: skip
    p50, p99 = (metrics.metric_model_latency().with_(statistic=name) for name in ("p50", "p99"))
    yield Chart(
        "Latency (microseconds)",
        [
            AlarmedMetric("LatencyP50", "median model latency",
                          p50, thresholds.model_latency_p50_ms, scale=MICROSECONDS_PER_MS),
            AlarmedMetric("LatencyP99", "p99 model latency",
                          p99, thresholds.model_latency_p99_ms, scale=MICROSECONDS_PER_MS),
        ],
        [metrics.metric_overhead_latency()],
    )  # fmt: skip


def variant_charts(
    metrics: EndpointMetrics,
    variant: "Variant",
    thresholds: AlarmThresholds,
    cache_charts: Iterable[Chart],
) -> Iterator[Chart]:
    """Yield the charts of a variant, including `cache_charts` of the model cache."""
    yield from request_charts(metrics, thresholds)
    yield from cache_charts
    if published_metrics := variant.container.options.publish_metrics:
        for title, names in TRITON_CHARTS.items():
            namespace = f'Namespace="{published_metrics.namespace}"'
            searches = [_search(f'{namespace} MetricName="{name}"', "Sum", name) for name in names]
            yield Chart(title, other_metrics=searches)
    gpu_counts = {instance_type.gpu_count for instance_type in variant.instance_types}
    if len(gpu_counts) > 1:
        # No alarms of GPU memory: the metric is a sum over GPUs, so that one threshold cannot fit
        # types with different GPU counts.
        thresholds = replace(thresholds, gpu_memory_percent={})
    yield from _instance_charts(metrics, max(gpu_counts), thresholds)
    if len(variant.instance_types) > 1:
        types = [instance_type.name for instance_type in variant.instance_types]
        by_type = [replace(metrics, instance_type=name) for name in types]
        invocations = [
            metrics_of_type.metric_invocations().with_(label=metrics_of_type.instance_type)
            for metrics_of_type in by_type
        ]
        yield Chart("Traffic by instance type (per minute)", other_metrics=invocations)
        latencies = [
            metrics_of_type.metric_model_latency().with_(
                statistic="p99", label=metrics_of_type.instance_type
            )
            for metrics_of_type in by_type
        ]
        yield Chart("p99 latency by instance type (microseconds)", other_metrics=latencies)


def client_charts(namespace: str, endpoint_name: str) -> Iterator[Chart]:
    """Yield the charts of the clients' metrics, with a line for each model.

    Search expressions also find models that are published later (CloudWatch user guide,
    search-expression-syntax: a schema in braces is the namespace and the exact dimensions).
    """
    schema = ",".join((namespace, *CLIENT_DIMENSIONS))
    for title, metrics in CLIENT_CHARTS.items():
        searches = [
            _search(f'{{{schema}}} Endpoint="{endpoint_name}" MetricName="{name}"', statistic)
            for name, statistics in metrics.items()
            for statistic in statistics
        ]
        yield Chart(title, other_metrics=searches)


def _instance_charts(
    metrics: EndpointMetrics, gpu_count: int, thresholds: AlarmThresholds
) -> Iterator[Chart]:
    if gpu_count:
        memory = AlarmedMetric("GpuMemory", "GPU memory in use",
            metrics.metric_gpu_memory_utilization(), thresholds.gpu_memory_percent,
            scale=gpu_count)  # fmt: skip
        utilization = metrics.metric_gpu_utilization()
        yield Chart(f"GPU (percent, {gpu_count} per instance)", [memory], [utilization])
    disk = AlarmedMetric("Disk", "storage in use",
        metrics.metric_disk_utilization(), thresholds.disk_percent)  # fmt: skip
    yield Chart("Storage (percent)", [disk])
    yield memory_chart(
        "Memory and CPU (percent)",
        metrics.metric_memory_utilization(), metrics.metric_cpu_utilization(), thresholds,
    )  # fmt: skip


def memory_chart(
    title: str, memory: cloudwatch.Metric, cpu: cloudwatch.Metric, thresholds: AlarmThresholds
) -> Chart:
    """Return the chart of host memory, with its alarms, and CPU.

    The maximum over instances shows the leak of one of them, which an average would hide.
    """
    fullest = memory.with_(statistic="Maximum")
    alarmed = AlarmedMetric("Memory", "host memory in use", fullest, thresholds.memory_percent)
    return Chart(title, [alarmed], [cpu])


def _search(terms: str, statistic: str, label: str | None = None) -> cloudwatch.MathExpression:
    """Return a search expression (CloudWatch user guide, search-expression-syntax).

    A search is needed for Triton's own metrics, `nv_*`, because no source documents the dimensions
    that the agent in AWS's Triton image adds. Alarms do not support search expressions.
    """
    return cloudwatch.MathExpression(
        expression=f"SEARCH('{terms}', '{statistic}', 60)", label=label or statistic, period=MINUTE
    )
