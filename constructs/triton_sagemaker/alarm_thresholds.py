"""Alarm thresholds by severity."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Severity(StrEnum):
    """The severity of an alarm: a warning can wait until working hours, a critical alarm cannot."""

    WARNING = "warning"
    CRITICAL = "critical"


Thresholds = Mapping[Severity, float]


def _thresholds(warning: float, critical: float) -> Thresholds:
    return {Severity.WARNING: warning, Severity.CRITICAL: critical}


MODEL_ERROR_RATE = 0.2
"""Share of requests with an error response of the container at which an update is rolled back.

Invalid requests count too, because Triton answers them with the same status as a failed inference.
Our choice: above the usual share of invalid requests, and low enough to detect one faulty model of
five.
"""


@dataclass(frozen=True, kw_only=True)
class AlarmThresholds:
    """Thresholds of a variant's alarms; an empty mapping leaves an alarm out.

    Thresholds for the model cache only apply to multi-model hosting, thresholds for GPUs only to
    instance types with GPUs.
    """

    server_error_rate: Thresholds = field(default_factory=lambda: _thresholds(0.01, 0.05))
    """Share of 5xx responses, 0 to 1."""
    client_error_rate: Thresholds = field(default_factory=lambda: {Severity.WARNING: 0.1})
    """Share of 4xx responses, 0 to 1: invalid requests, and most errors of Triton."""
    model_error_rate: Thresholds = field(
        default_factory=lambda: {Severity.CRITICAL: MODEL_ERROR_RATE}
    )
    """Share of requests that the container did not answer with 2xx, 0 to 1."""
    model_latency_p50_ms: Thresholds = field(default_factory=dict)
    """Median time in the container, in milliseconds."""
    model_latency_p99_ms: Thresholds = field(default_factory=lambda: _thresholds(1_000, 5_000))
    """99th percentile of the time in the container, in milliseconds."""
    gpu_memory_percent: Thresholds = field(default_factory=lambda: _thresholds(90, 97))
    """GPU memory in use, in percent of the memory of all GPUs of an instance."""
    memory_percent: Thresholds = field(default_factory=lambda: _thresholds(85, 95))
    """Host memory that the containers of an instance use, in percent: of the fullest instance, or
    of the fullest copy of an inference component."""
    disk_percent: Thresholds = field(default_factory=lambda: _thresholds(80, 95))
    """Storage for models in use, in percent."""
    cache_hit_rate_below: Thresholds = field(default_factory=lambda: {Severity.WARNING: 0.8})
    """Share of requests whose model was in memory, 0 to 1: the alarm is for values below."""
    loading_wait_max_ms: Thresholds = field(default_factory=lambda: _thresholds(10_000, 60_000))
    """Longest wait for a model to load, in milliseconds (the metric has no percentiles)."""
    unloads_per_minute: Thresholds = field(default_factory=lambda: {Severity.WARNING: 10})
    """Models unloaded to make room for others. A high rate means that memory is too small."""
    loaded_models_below: Thresholds = field(default_factory=lambda: {Severity.WARNING: 1})
    """Number of models in memory: the alarm is for lower values while there are requests."""
