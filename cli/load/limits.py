"""What limited a step: the instance's utilization by CloudWatch, and where calls waited.

Metrics: SageMaker's developer guide, monitoring-cloudwatch. CPUUtilization is the sum of all cores,
GPUUtilization and GPUMemoryUtilization of all GPUs (repost.aws/knowledge-center/
sagemaker-cpu-gpu-utilization-100). The thresholds are this module's own.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from cli.load.report import SATURATED
from cli.load.step import LoadStep

REQUESTS, INSTANCES = "AWS/SageMaker", "/aws/sagemaker/Endpoints"
METRICS = {
    "ModelLatency": REQUESTS,
    "CPUUtilization": INSTANCES,
    "GPUUtilization": INSTANCES,
    "MemoryUtilization": INSTANCES,
    "GPUMemoryUtilization": INSTANCES,
}
LIMITS = {
    "GPUUtilization": ("GPU", 90),
    "CPUUtilization": ("CPU", 80),
    "GPUMemoryUtilization": ("memory", 95),
    "MemoryUtilization": ("memory", 95),
}
"""Metrics to what they are of, and the percentage from which it limits."""
MINUTE = 60
LATEST_SECONDS = 180
"""How long to wait for the metrics of the last minute, which come late."""

Metrics = dict[str, float]


def metrics_of(
    cloudwatch: Any,
    endpoint: str,
    variant: str,
    step: LoadStep,
    *,
    vcpus: int,
    gpus: int,
    sleep: Callable[[float], None] = time.sleep,
) -> Metrics:
    """Return each metric's highest minute during a step; what nobody publishes is left out.

    Percentages are of the whole instance, which has so many vCPUs and GPUs; latencies are in ms.
    """
    divided_by = {"ModelLatency": 1000, "CPUUtilization": vcpus}
    divided_by |= dict.fromkeys(("GPUUtilization", "GPUMemoryUtilization"), max(1, gpus))
    dimensions = {"EndpointName": endpoint, "VariantName": variant}
    start = step.start.replace(second=0, microsecond=0)
    end = step.start + timedelta(seconds=step.seconds)
    last = end.replace(second=0, microsecond=0) + timedelta(minutes=1)
    latest = last + timedelta(seconds=LATEST_SECONDS)
    while True:
        points = {
            metric: cloudwatch.get_metric_statistics(
                Namespace=namespace,
                MetricName=metric,
                Dimensions=[{"Name": name, "Value": value} for name, value in dimensions.items()],
                StartTime=start,
                EndTime=last,
                Period=MINUTE,
                Statistics=["Average"],
            )["Datapoints"]
            for metric, namespace in METRICS.items()
        }
        complete = points["ModelLatency"] and points["CPUUtilization"]
        if (complete and datetime.now(UTC) > last) or datetime.now(UTC) > latest:
            break
        sleep(10)
    return {
        name: round(max(point["Average"] for point in data) / divided_by.get(name, 1), 2)
        for name, data in points.items()
        if data
    }


def limited_by(step: LoadStep, metrics: Metrics) -> tuple[str, str]:
    """Return what limited a step, and by which figures."""
    if step.generator_cpu > SATURATED:
        used = f"this process used {step.generator_cpu:.0%} of a core"
        return "load generator", f"{used}: start the load on a larger machine, or on several"
    for name, (limit, threshold) in LIMITS.items():
        if metrics.get(name, 0) >= threshold:
            return limit, f"{name} {metrics[name]:.0f} %"
    if "ModelLatency" not in metrics:
        return "unknown", "CloudWatch has no metrics of the step"
    model, client = metrics["ModelLatency"], step.latency_ms.get("mean", 0.0)
    figures = f"ModelLatency {model:.1f} ms, {client:.1f} ms at the client (means)"
    if client > 2 * model:
        return "queue", f"before the container: {figures}"
    return (
        "queue",
        f"in Triton, or the model itself is slow: {figures}",
    )
