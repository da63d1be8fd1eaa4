"""The charts of a dashboard, with the alarms of their metrics."""

from collections.abc import Iterator
from dataclasses import replace

from aws_cdk import aws_cloudwatch as cloudwatch

from platform_facts.rules import stage
from triton_sagemaker.alarm_thresholds import AlarmThresholds
from triton_sagemaker.chart import BELOW, MICROSECONDS_PER_MS, AlarmedMetric, Chart
from triton_sagemaker.component_hosting import ComponentHosting
from triton_sagemaker.endpoint_metrics import INSTANCES_NAMESPACE, MINUTE, EndpointMetrics
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
    metrics: EndpointMetrics, variant: Variant, thresholds: AlarmThresholds
) -> Iterator[Chart]:
    """Yield the charts of a variant; with components, one of the resources that they reserve."""
    if isinstance(variant.hosting, ComponentHosting):
        reserved = [
            metrics.metric(INSTANCES_NAMESPACE, f"{resource}Reservation", "Average")
            for resource in ("CPU", "GPU", "Memory")
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


def _cache_charts(
    metrics: EndpointMetrics, hosting: MultiModelHosting, thresholds: AlarmThresholds
) -> Iterator[Chart]:
    """Yield the charts of the models in memory."""
    if not hosting.cache_models:  # every request misses the cache: no alarm
        thresholds = replace(thresholds, **{name: {} for name in stage.CACHE_ALARMS})
    cache_hits = AlarmedMetric("CacheHits", "low share of requests whose model is loaded",
        metrics.metric_model_cache_hit_rate(), thresholds.cache_hit_rate_below,
        comparison=BELOW)  # fmt: skip
    yield Chart("Model cache hits (share of requests)", [cache_hits])
    wait = AlarmedMetric("LoadingWait", "longest wait for a model",
        metrics.metric_model_loading_wait(), thresholds.loading_wait_max_ms,
        scale=MICROSECONDS_PER_MS)  # fmt: skip
    durations = [metrics.metric_model_downloading_time(), metrics.metric_model_loading_time()]
    yield Chart("Waiting for models (microseconds)", [wait], durations)
    unloads = AlarmedMetric("Unloads", "models unloaded per minute",
        metrics.metric_model_unloads(), thresholds.unloads_per_minute)  # fmt: skip
    loaded_models = AlarmedMetric("LoadedModels", "too few models in memory during requests",
        metrics.metric_loaded_models(), thresholds.loaded_models_below,
        comparison=BELOW, requests=metrics.metric_invocations())  # fmt: skip
    yield Chart("Models in memory", [unloads, loaded_models])


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
