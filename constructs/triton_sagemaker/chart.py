"""A chart of a dashboard, and its metrics with alarms."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aws_cdk import aws_cloudwatch as cloudwatch

from platform_facts.rules.monitoring import MEASURES
from triton_sagemaker.alarm_thresholds import AlarmThresholds, Thresholds
from triton_sagemaker.endpoint_metrics import MINUTE, EndpointMetrics

ABOVE = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
BELOW = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
ALARMS = {
    "server_error_rate": ("ServerErrors", "share of 5xx answers"),
    "client_error_rate": ("ClientErrors", "share of 4xx answers"),
    "model_error_rate": ("ModelErrors", "share of requests that failed in the container"),
    "model_latency_p50_ms": ("LatencyP50", "median model latency"),
    "model_latency_p99_ms": ("LatencyP99", "p99 model latency"),
    "gpu_memory_percent": ("GpuMemory", "GPU memory in use"),
    "memory_percent": ("Memory", "host memory in use"),
    "disk_percent": ("Disk", "storage in use"),
    "cache_hit_rate_below": ("CacheHits", "low share of requests whose model is loaded"),
    "loading_wait_max_ms": ("LoadingWait", "longest wait for a model"),
    "unloads_per_minute": ("Unloads", "models unloaded per minute"),
    "loaded_models_below": ("LoadedModels", "too few models in memory during requests"),
}
"""Threshold -> name and title of its alarms."""


@dataclass(frozen=True)
class AlarmedMetric:
    """A metric with alarms: each alarm compares the metric with a threshold times `scale`.

    If `requests` is set to the metric of the variant's requests, alarms ignore minutes without
    requests.
    """

    name: str
    title: str
    metric: cloudwatch.Metric
    thresholds: Thresholds
    scale: float = 1
    comparison: cloudwatch.ComparisonOperator = ABOVE
    requests: cloudwatch.Metric | None = None

    def condition(self, threshold: float) -> dict[str, Any]:
        """Return the properties of the alarm for one of the thresholds.

        In a minute in which only one of the two metrics has data, the expression is 0 or has no
        data (CloudWatch user guide, using-metric-math, "Using IF expressions").
        """
        limit, metric = threshold * self.scale, self.metric
        if self.requests is None:
            return {"metric": metric, "comparison_operator": self.comparison, "threshold": limit}
        expression = cloudwatch.MathExpression(
            expression=f"IF(measured {'<' if self.comparison is BELOW else '>='} {limit:g}, "
            "requests, 0)",
            label=self.title,
            period=MINUTE,
            using_metrics={"measured": metric, "requests": self.requests},
        )
        return {"metric": expression, "comparison_operator": ABOVE, "threshold": 1}


def alarmed_metrics(
    metrics: EndpointMetrics,
    thresholds: AlarmThresholds,
    *names: str,
    factor: float = 1,
) -> list[AlarmedMetric]:
    """Return the metrics of thresholds, which the alarms multiply with `factor`."""
    return [
        AlarmedMetric(
            *ALARMS[name],
            metrics.alarmed_metric(name),
            getattr(thresholds, name),
            scale=MEASURES[name].scale * factor,
            comparison=BELOW if name.endswith("_below") else ABOVE,
            requests=metrics.metric("Invocations", "Sum")
            if name == "loaded_models_below"
            else None,
        )
        for name in names
    ]


@dataclass(frozen=True)
class Chart:
    """A widget of a dashboard: metrics with alarms, and further metrics without."""

    title: str
    alarmed_metrics: Sequence[AlarmedMetric] = ()
    other_metrics: Sequence[cloudwatch.IMetric] = ()
