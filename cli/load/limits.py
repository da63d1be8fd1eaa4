"""The bottleneck of a step, from its metrics. The thresholds are our choice."""

from cli.load.report import SATURATED_CORE_SHARE
from cli.load.step import LoadStep

BOTTLENECK_THRESHOLDS = {
    "GPUUtilization": ("GPU", 90),
    "CPUUtilization": ("CPU", 80),
    "GPUMemoryUtilization": ("memory", 95),
    "MemoryUtilization": ("memory", 95),
}
"""Metric -> resource, and the percentage from which the resource is the bottleneck."""
QUEUE_FACTOR = 2
"""Factor above the latency of the lightest step from which requests wait in a queue."""


def find_bottleneck(step: LoadStep, lightest: LoadStep) -> tuple[str, str]:
    """Return the bottleneck of a step of an endpoint with one variant, and its figures.

    Raise `ValueError` for steps of several variants.
    """
    [metrics], [light_metrics] = step.metrics.values(), lightest.metrics.values()
    if step.generator_cpu > SATURATED_CORE_SHARE:
        reason = f"this process used {step.generator_cpu:.0%} of a core"
        return "load generator", f"{reason}: run the load on a larger machine, or on several"
    for name, (limit, threshold) in BOTTLENECK_THRESHOLDS.items():
        if metrics.get(name, 0) >= threshold:
            return limit, f"{name} {metrics[name]:.0f} %"
    if unloads := metrics.get("ModelUnloadingTime"):
        return "memory", f"ModelUnloadingTime {unloads:.0f}: models were evicted"
    if "ModelLatency" not in metrics:
        return "unknown", "CloudWatch has no metrics of the step"
    model, client = metrics["ModelLatency"], step.latency_ms.get("mean", 0.0)
    light_latency = light_metrics.get("ModelLatency", model)
    figures = (
        f"ModelLatency {model:.1f} ms, {light_latency:.1f} ms at {lightest.level:g} a second, "
        f"{client:.1f} ms at the client (means)"
    )
    if client > QUEUE_FACTOR * model:
        return "queue", f"before the container: {figures}"
    if model > QUEUE_FACTOR * light_latency:
        return "queue", f"in the container: {figures}"
    return "unknown", f"no metric is near its limit: {figures}"
