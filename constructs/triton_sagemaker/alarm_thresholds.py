"""Thresholds of alarms: for each measure, severity -> threshold."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Severity(StrEnum):
    """The severity of an alarm: a warning can wait for the morning, something critical cannot."""

    WARNING = "warning"
    CRITICAL = "critical"


Thresholds = Mapping[Severity, float]


def _both(warning: float, critical: float) -> Thresholds:
    return {Severity.WARNING: warning, Severity.CRITICAL: critical}


MODEL_ERROR_RATE = 0.2
"""Share of requests that the container fails, above which the models are taken to be at fault.

Callers' mistakes count too, since Triton answers them alike. Our choice: above what callers get
wrong while they are well, and low enough to see one broken model among five.
"""


@dataclass(frozen=True, kw_only=True)
class AlarmThresholds:
    """Thresholds of a variant's alarms; an empty mapping leaves an alarm out.

    Measures of the model cache apply to multi-model hosting, those of GPUs to GPU types.
    """

    server_error_rate: Thresholds = field(default_factory=lambda: _both(0.01, 0.05))
    """Share of 5xx answers, 0 to 1."""
    client_error_rate: Thresholds = field(default_factory=lambda: {Severity.WARNING: 0.1})
    """Share of 4xx answers, 0 to 1: callers' mistakes, and most failures of Triton."""
    model_error_rate: Thresholds = field(
        default_factory=lambda: {Severity.CRITICAL: MODEL_ERROR_RATE}
    )
    """Share of requests that the container did not answer with 2xx, 0 to 1."""
    model_latency_p50_ms: Thresholds = field(default_factory=dict)
    """Median time in the container, in milliseconds."""
    model_latency_p99_ms: Thresholds = field(default_factory=lambda: _both(1_000, 5_000))
    """99th percentile of the time in the container, in milliseconds."""
    gpu_memory_percent: Thresholds = field(default_factory=lambda: _both(90, 97))
    """Memory in use, in percent of all GPUs of an instance."""
    disk_percent: Thresholds = field(default_factory=lambda: _both(80, 95))
    """Storage for models in use, in percent."""
    cache_hit_rate_below: Thresholds = field(default_factory=lambda: {Severity.WARNING: 0.8})
    """Share of requests whose model was loaded already, 0 to 1: low is bad."""
    loading_wait_max_ms: Thresholds = field(default_factory=lambda: _both(10_000, 60_000))
    """Longest wait for a model to load, in milliseconds: SageMaker names no percentiles of it."""
    unloads_per_minute: Thresholds = field(default_factory=lambda: {Severity.WARNING: 10})
    """Models that had to leave memory: many mean that the working set does not fit."""
    loaded_models_below: Thresholds = field(default_factory=lambda: {Severity.WARNING: 1})
    """Models in memory while there are requests: none means that nobody is served."""
