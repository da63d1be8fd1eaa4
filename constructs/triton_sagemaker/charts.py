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

TRITON = {
    "Triton: requests by model": ("nv_inference_request_success", "nv_inference_request_failure"),
    "Triton: microseconds by model": (
        "nv_inference_queue_duration_us",
        "nv_inference_compute_infer_duration_us",
    ),
}
"""Charts of Triton's own metrics (triton-inference-server/server, docs/user_guide/metrics.md)."""
CLIENT_DIMENSIONS = "Endpoint", "Model"
CLIENT_METRICS = {
    "Clients: requests by model": {"Requests": ["Sum"]},
    "Clients: errors by model": {"Errors": ["Sum"]},
    "Clients: latency by model (milliseconds)": {"Latency": ["p50", "p99"]},
}
"""Charts of the metrics of `endpoint_client.metrics.EmfLogger`, with their statistics."""


def request_charts(metrics: EndpointMetrics, limits: AlarmThresholds) -> Iterator[Chart]:
    """Yield the charts of traffic, errors and latency."""
    yield Chart("Traffic (a minute)", beside=metrics.traffic)
    yield Chart(
        "Errors (share of requests)",
        [
            AlarmedMetric("ServerErrors", "share of 5xx answers",
                          metrics.metric_server_error_rate(), limits.server_error_rate),
            AlarmedMetric("ClientErrors", "share of 4xx answers",
                          metrics.metric_client_error_rate(), limits.client_error_rate),
            AlarmedMetric("ModelErrors", "share of requests that the container failed",
                          metrics.metric_model_error_rate(), limits.model_error_rate),
        ],
    )  # fmt: skip
    p50, p99 = (metrics.metric_model_latency().with_(statistic=name) for name in ("p50", "p99"))
    yield Chart(
        "Latency (microseconds)",
        [
            AlarmedMetric("LatencyP50", "median model latency", p50, limits.model_latency_p50_ms,
                          MICROSECONDS_PER_MS),
            AlarmedMetric("LatencyP99", "p99 model latency", p99, limits.model_latency_p99_ms,
                          MICROSECONDS_PER_MS),
        ],
        [metrics.metric_overhead_latency()],
    )  # fmt: skip


def variant_charts(
    metrics: EndpointMetrics, variant: "Variant", limits: AlarmThresholds, cache: Iterable[Chart]
) -> Iterator[Chart]:
    """Yield the charts of a variant, including `cache`, those of its model cache."""
    yield from request_charts(metrics, limits)
    yield from cache
    if published := variant.container.options.publish_metrics:
        for title, names in TRITON.items():
            terms = [f'Namespace="{published.namespace}" MetricName="{name}"' for name in names]
            searches = [_search(each, "Sum", name) for each, name in zip(terms, names, strict=True)]
            yield Chart(title, beside=searches)
    counts = {each.gpu_count for each in variant.instance_types}
    if (
        len(counts) > 1
    ):  # the metric is a sum over the GPUs: types with more GPUs need another threshold
        limits = replace(limits, gpu_memory_percent={})
    yield from _machines(metrics, max(counts), limits)
    if variant.fallbacks:
        types = [replace(metrics, instance_type=each.name) for each in variant.instance_types]
        yield Chart(
            "Traffic by instance type (a minute)",
            beside=[each.metric_invocations().with_(label=each.instance_type) for each in types],
        )
        yield Chart(
            "p99 latency by instance type (microseconds)",
            beside=[each.metric_model_latency().with_(label=each.instance_type) for each in types],
        )


def client_charts(namespace: str, endpoint_name: str) -> Iterator[Chart]:
    """Yield the charts of the clients' metrics, with a line for each model.

    Search expressions also find models that are published later (CloudWatch user guide,
    search-expression-syntax: a schema in braces is the namespace and the exact dimensions).
    """
    schema = ",".join((namespace, *CLIENT_DIMENSIONS))
    for title, metrics in CLIENT_METRICS.items():
        searches = [
            _search(f'{{{schema}}} Endpoint="{endpoint_name}" MetricName="{name}"', statistic)
            for name, statistics in metrics.items()
            for statistic in statistics
        ]
        yield Chart(title, beside=searches)


def _machines(metrics: EndpointMetrics, gpus: int, limits: AlarmThresholds) -> Iterator[Chart]:
    if gpus:
        memory = AlarmedMetric("GpuMemory", "GPU memory in use",
            metrics.metric_gpu_memory_utilization(), limits.gpu_memory_percent, gpus)  # fmt: skip
        utilization = metrics.metric_gpu_utilization()
        yield Chart(f"GPU (percent, {gpus} a machine)", [memory], [utilization])
    disk = AlarmedMetric("Disk", "storage in use",
        metrics.metric_disk_utilization(), limits.disk_percent)  # fmt: skip
    yield Chart("Storage (percent)", [disk])
    yield Chart(
        "CPU and memory (percent)",
        beside=[metrics.metric_cpu_utilization(), metrics.metric_memory_utilization()],
    )


def _search(terms: str, statistic: str, label: str | None = None) -> cloudwatch.MathExpression:
    """Return a search expression (CloudWatch user guide, search-expression-syntax).

    A search is needed for Triton's own metrics, `nv_*`, because no source documents the dimensions
    that the image's agent adds. Alarms do not support search expressions.
    """
    return cloudwatch.MathExpression(
        expression=f"SEARCH('{terms}', '{statistic}', 60)", label=label or statistic, period=MINUTE
    )
