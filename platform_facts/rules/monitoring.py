"""Rules about alarms, notifications and data capture."""

from collections.abc import Mapping
from math import inf
from typing import NamedTuple

from platform_facts.rules.ranges import API
from platform_facts.rules.rule import Violation, rule

MAX_ALARM_ACTIONS = 5
MODEL_ERROR_RATE = 0.2
"""Share of requests with an error response of the container at which an update is rolled back.

Invalid requests count too, because Triton answers them with the same status as a failed inference.
Our choice: above the usual share of invalid requests, and low enough to detect one faulty model of
five.
"""
SERVER_ERROR_RATE = 0.05
"""Share of 5xx responses of new instances in a minute that rolls an update back."""
MAX_ROLLBACK_ALARMS = 10
"""Maximum number of alarms of an update (API reference, AutoRollbackConfig)."""
INVOCATIONS, INSTANCES = "AWS/SageMaker", "/aws/sagemaker/Endpoints"
"""Namespaces of the metrics of requests and of instances."""
COPIES = "/aws/sagemaker/InferenceComponents"
"""Namespace of the metrics of an inference component's copies, whose names end with `Normalized`:
they are in percent of what the copies reserve (developer guide, monitoring-cloudwatch, "inference
component metrics")."""


class Measure(NamedTuple):
    """The metric of a threshold; its alarm compares the metric with the threshold times `scale`."""

    namespace: str
    metric: str
    statistic: str
    scale: float = 1


MEASURES = {
    "server_error_rate": Measure(INVOCATIONS, "Invocation5XXErrors", "Average"),
    "client_error_rate": Measure(INVOCATIONS, "Invocation4XXErrors", "Average"),
    "model_error_rate": Measure(INVOCATIONS, "InvocationModelErrors", "Average"),
    "model_latency_p50_ms": Measure(INVOCATIONS, "ModelLatency", "p50", 1000),
    "model_latency_p99_ms": Measure(INVOCATIONS, "ModelLatency", "p99", 1000),
    "gpu_memory_percent": Measure(INSTANCES, "GPUMemoryUtilization", "Average"),
    "memory_percent": Measure(INSTANCES, "MemoryUtilization", "Maximum"),
    "disk_percent": Measure(INSTANCES, "DiskUtilization", "Average"),
    "cache_hit_rate_below": Measure(INVOCATIONS, "ModelCacheHit", "Average"),
    "loading_wait_max_ms": Measure(INVOCATIONS, "ModelLoadingWaitTime", "Maximum", 1000),
    "unloads_per_minute": Measure(INVOCATIONS, "ModelUnloadingTime", "SampleCount"),
    "loaded_models_below": Measure(INSTANCES, "LoadedModelCount", "Sum"),
}
"""Threshold -> metric: durations are in microseconds, GPU memory in percent of one GPU.

InvocationModelErrors "includes 4XX/5XX status codes, low-level socket errors, malformed HTTP
responses, and request timeouts" (developer guide, monitoring-cloudwatch). Only this metric shows
errors of Triton, which answers a failed inference or load with 400, like an invalid request, and
insufficient memory with 507 (triton-inference-server/server, src/sagemaker_server.cc). ModelLatency
is the only time for which the guide lists percentiles. The maximum of MemoryUtilization shows the
leak of one instance, which an average would hide.
"""
ERROR_RATES = "server_error_rate", "client_error_rate", "model_error_rate"
LATENCIES = "model_latency_p50_ms", "model_latency_p99_ms"
"""`ERROR_RATES` and `LATENCIES`: thresholds of every variant and component; the others depend on
instances and hosting."""
THRESHOLDS: dict[str, dict[str, float]] = {
    "server_error_rate": {"warning": 0.01, "critical": 0.05},
    "client_error_rate": {"warning": 0.1},
    "model_error_rate": {"critical": MODEL_ERROR_RATE},
    "model_latency_p50_ms": {},
    "model_latency_p99_ms": {"warning": 1_000, "critical": 5_000},
    "gpu_memory_percent": {"warning": 90, "critical": 97},
    "memory_percent": {"warning": 85, "critical": 95},
    "disk_percent": {"warning": 80, "critical": 95},
    "cache_hit_rate_below": {"warning": 0.8},
    "loading_wait_max_ms": {"warning": 10_000, "critical": 60_000},
    "unloads_per_minute": {"warning": 10},
    "loaded_models_below": {"warning": 1},
}
"""The default thresholds of alarms; `triton_sagemaker.AlarmThresholds` describes the metrics."""


class Evaluation(NamedTuple):
    """An alarm goes off if `datapoints` of the last `periods` minutes breach its threshold."""

    datapoints: int
    periods: int


EVALUATION = Evaluation(3, 5)
ROLLBACK_EVALUATIONS = {
    "server_error_rate": Evaluation(1, 1),
    "model_error_rate": Evaluation(2, 3),  # at night, an invalid request may be the only request
}
"""The evaluation of alarms that notify, and of those that roll an update back."""


def dimension_list(dimensions: Mapping[str, str]) -> list[dict[str, str]]:
    """Return a metric's dimensions as CloudFormation has them."""
    return [{"Name": name, "Value": value} for name, value in dimensions.items()]


def check_thresholds(thresholds: Mapping[str, Mapping[str, float]]) -> list[Violation]:
    """Return unreachable thresholds, and warnings that fire after the critical alarm."""
    problems: list[Violation] = []
    for metric, levels in thresholds.items():
        for severity, level in levels.items():
            problems += _check_threshold_range.at("alarms", metric, severity)(metric, level)
        problems += _check_threshold_order.at("alarms", metric, "warning")(
            metric, levels.get("warning"), levels.get("critical")
        )
    return problems


@rule(
    "alarms",
    "the unit at the end of the metric's name: a rate is from 0 to 1, a percentage from 0 to 100",
)
def _check_threshold_range(metric: str, threshold: float) -> str | None:
    """A threshold is within the range of its metric: 0 to 1 for a rate, 0 to 100 for percent."""
    unit = metric.removesuffix("_below").rpartition("_")[2]
    maximum = {"rate": 1, "percent": 100}.get(unit, inf)
    if 0 <= threshold <= maximum:
        return None
    valid = "0 or more" if maximum == inf else f"0 to {maximum}"
    return f"{threshold:g} is out of range: write {valid}"


@rule("alarms", "our choice: a warning is useless after the critical alarm")
def _check_threshold_order(
    metric: str, warning: float | None, critical: float | None
) -> str | None:
    """`warning` is below `critical`, or above it for metrics whose names end with `_below`."""
    if warning is None or critical is None:
        return None
    low_is_bad = metric.endswith("_below")
    if warning >= critical if low_is_bad else warning <= critical:
        return None
    side = "less" if low_is_bad else "more"
    return (
        f"{warning:g} is {side} than critical, {critical:g}, and would fire later: swap the values"
    )


@rule(
    "notify",
    "docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_limits.html: actions per "
    "alarm; the quota cannot be changed",
)
def check_topic_count(count: int) -> str | None:
    """At most five topics; all addresses under `notify.email` share one topic, which counts too."""
    if count <= MAX_ALARM_ACTIONS:
        return None
    return (
        f"{count} topics, and an alarm notifies at most {MAX_ALARM_ACTIONS}: remove some, or "
        "subscribe their recipients to a remaining topic"
    )


@rule("data_capture.requests", f"{API}DataCaptureConfig.html, CaptureOptions: at least one")
def check_captured_content(requests: bool, responses: bool) -> str | None:
    """At least one of `requests` and `responses` is true."""
    if requests or responses:
        return None
    return "requests and responses are both false: set one of them to true"
