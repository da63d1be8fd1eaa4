"""Alarm thresholds by metric and severity."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Severity(StrEnum):
    """The severity of an alarm: a warning can wait until working hours, a critical alarm cannot."""

    WARNING = "warning"
    CRITICAL = "critical"


Thresholds = Mapping[Severity, float]


def _warning_and_critical(warning: float, critical: float) -> Thresholds:
    return {Severity.WARNING: warning, Severity.CRITICAL: critical}


MODEL_ERROR_RATE = 0.2
"""Default threshold of the share of requests that fail in the container, 0 to 1.

Client errors count too: Triton returns 400 for both. The value is a choice of this project: above
the usual share of client errors, and low enough to detect one broken model among five.
"""


@dataclass(frozen=True, kw_only=True)
class AlarmThresholds:
    """Thresholds of the alarms of a variant or an inference component.

    Each attribute maps a `Severity` to a threshold; an empty mapping creates no alarm. An alarm
    fires when 3 of 5 minutes reach the threshold (for `*_below`: are lower than it). Attributes of
    the model cache apply to multi-model hosting only, `gpu_memory_percent` to GPU instances only.
    """

    server_error_rate: Thresholds = field(default_factory=lambda: _warning_and_critical(0.01, 0.05))
    """Share of 5xx responses, 0 to 1."""
    client_error_rate: Thresholds = field(default_factory=lambda: {Severity.WARNING: 0.1})
    """Share of 4xx responses, 0 to 1: client errors, and most failures of Triton."""
    model_error_rate: Thresholds = field(
        default_factory=lambda: {Severity.CRITICAL: MODEL_ERROR_RATE}
    )
    """Share of requests without a 2xx response of the container, 0 to 1."""
    model_latency_p50_ms: Thresholds = field(default_factory=dict)
    """Median time in the container, in milliseconds."""
    model_latency_p99_ms: Thresholds = field(
        default_factory=lambda: _warning_and_critical(1_000, 5_000)
    )
    """99th percentile of the time in the container, in milliseconds."""
    gpu_memory_percent: Thresholds = field(default_factory=lambda: _warning_and_critical(90, 97))
    """GPU memory in use, in percent of the memory of all GPUs of an instance, 0 to 100."""
    disk_percent: Thresholds = field(default_factory=lambda: _warning_and_critical(80, 95))
    """Disk space for models in use, in percent, 0 to 100."""
    cache_hit_rate_below: Thresholds = field(default_factory=lambda: {Severity.WARNING: 0.8})
    """Share of requests whose model was in memory, 0 to 1; alarms when it is lower."""
    loading_wait_max_ms: Thresholds = field(
        default_factory=lambda: _warning_and_critical(10_000, 60_000)
    )
    """Longest wait for a model to load, in milliseconds; SageMaker has no percentiles of it."""
    unloads_per_minute: Thresholds = field(default_factory=lambda: {Severity.WARNING: 10})
    """Models unloaded from memory per minute: a high value means that memory is too small."""
    loaded_models_below: Thresholds = field(default_factory=lambda: {Severity.WARNING: 1})
    """Models in memory in minutes with requests; alarms when it is lower."""
