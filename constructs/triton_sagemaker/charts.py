"""The charts of a dashboard, with the alarms of their metrics."""

from collections.abc import Iterator
from dataclasses import replace

from aws_cdk import aws_cloudwatch as cloudwatch

from platform_facts.rules import monitoring, stage
from triton_sagemaker.alarm_thresholds import AlarmThresholds
from triton_sagemaker.chart import Chart, alarmed_metrics
from triton_sagemaker.component_hosting import ComponentHosting
from triton_sagemaker.endpoint_metrics import (
    CPU_UTILIZATION,
    GPU_UTILIZATION,
    MINUTE,
    EndpointMetrics,
)
from triton_sagemaker.multi_model_hosting import MultiModelHosting
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
    errors = alarmed_metrics(metrics, thresholds, *monitoring.ERROR_RATES)
    yield Chart("Errors (share of requests)", errors)
    latencies = alarmed_metrics(metrics, thresholds, *monitoring.LATENCIES)
    yield Chart("Latency (microseconds)", latencies, [metrics.metric("OverheadLatency")])


def variant_charts(
    metrics: EndpointMetrics, variant: Variant, thresholds: AlarmThresholds
) -> Iterator[Chart]:
    """Yield the charts of a variant; with components, one of the resources that they reserve."""
    if isinstance(variant.hosting, ComponentHosting):
        reserved = [
            metrics.utilization(f"{resource}Reservation") for resource in ("CPU", "GPU", "Memory")
        ]
        yield Chart("Reserved by copies (percent)", other_metrics=reserved)
        return
    yield from request_charts(metrics, thresholds)
    if isinstance(variant.hosting, MultiModelHosting):
        yield from _cache_charts(metrics, variant.hosting, thresholds)
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
            metrics_of_type.metric("Invocations", "Sum").with_(label=metrics_of_type.instance_type)
            for metrics_of_type in by_type
        ]
        yield Chart("Traffic by instance type (per minute)", other_metrics=invocations)
        latencies = [
            metrics_of_type.metric("ModelLatency", "p99").with_(label=metrics_of_type.instance_type)
            for metrics_of_type in by_type
        ]
        yield Chart("p99 latency by instance type (microseconds)", other_metrics=latencies)


def _cache_charts(
    metrics: EndpointMetrics, hosting: MultiModelHosting, thresholds: AlarmThresholds
) -> Iterator[Chart]:
    """Yield the charts of the models in memory."""
    if not hosting.cache_models:  # every request misses the cache: no alarm
        thresholds = replace(thresholds, **{name: {} for name in stage.CACHE_ALARMS})
    hits = alarmed_metrics(metrics, thresholds, "cache_hit_rate_below")
    yield Chart("Model cache hits (share of requests)", hits)
    wait = alarmed_metrics(metrics, thresholds, "loading_wait_max_ms")
    durations = [
        metrics.metric(name, "Maximum") for name in ("ModelDownloadingTime", "ModelLoadingTime")
    ]
    yield Chart("Waiting for models (microseconds)", wait, durations)
    models = alarmed_metrics(metrics, thresholds, "unloads_per_minute", "loaded_models_below")
    yield Chart("Models in memory", models)


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
        memory = alarmed_metrics(metrics, thresholds, "gpu_memory_percent", factor=gpu_count)
        utilization = [metrics.utilization(GPU_UTILIZATION)]
        yield Chart(f"GPU (percent, {gpu_count} per instance)", memory, utilization)
    yield Chart("Storage (percent)", alarmed_metrics(metrics, thresholds, "disk_percent"))
    yield memory_chart("Memory and CPU (percent)", metrics, thresholds)


def memory_chart(title: str, metrics: EndpointMetrics, thresholds: AlarmThresholds) -> Chart:
    """Return the chart of host memory, with its alarms, and CPU."""
    memory = alarmed_metrics(metrics, thresholds, "memory_percent")
    return Chart(title, memory, [metrics.utilization(CPU_UTILIZATION)])


def _search(terms: str, statistic: str, label: str | None = None) -> cloudwatch.MathExpression:
    """Return a search expression (CloudWatch user guide, search-expression-syntax).

    A search is needed for Triton's own metrics, `nv_*`, because no source documents the dimensions
    that the agent in AWS's Triton image adds. Alarms do not support search expressions.
    """
    return cloudwatch.MathExpression(
        expression=f"SEARCH('{terms}', '{statistic}', 60)", label=label or statistic, period=MINUTE
    )
