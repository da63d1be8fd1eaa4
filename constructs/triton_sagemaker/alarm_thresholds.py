"""Alarm thresholds by severity."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from platform_facts.rules import monitoring


class Severity(StrEnum):
    """The severity of an alarm: a warning can wait until working hours, a critical alarm cannot."""

    WARNING = "warning"
    CRITICAL = "critical"


Thresholds = Mapping[Severity, float]


def _default(name: str) -> Callable[[], Thresholds]:
    levels = monitoring.THRESHOLDS[name].items()
    return lambda: {Severity(key): level for key, level in levels}


@dataclass(frozen=True, kw_only=True)
class AlarmThresholds:
    """Thresholds of a variant's alarms; an empty mapping leaves an alarm out.

    Thresholds for the model cache only apply to multi-model hosting, thresholds for GPUs only to
    instance types with GPUs.
    """

    server_error_rate: Thresholds = field(default_factory=_default("server_error_rate"))
    """Share of 5xx responses, 0 to 1."""
    client_error_rate: Thresholds = field(default_factory=_default("client_error_rate"))
    """Share of 4xx responses, 0 to 1: invalid requests, and most errors of Triton."""
    model_error_rate: Thresholds = field(default_factory=_default("model_error_rate"))
    """Share of requests that the container did not answer with 2xx, 0 to 1."""
    model_latency_p50_ms: Thresholds = field(default_factory=_default("model_latency_p50_ms"))
    """Median time in the container, in milliseconds."""
    model_latency_p99_ms: Thresholds = field(default_factory=_default("model_latency_p99_ms"))
    """99th percentile of the time in the container, in milliseconds."""
    gpu_memory_percent: Thresholds = field(default_factory=_default("gpu_memory_percent"))
    """GPU memory in use, in percent of the memory of all GPUs of an instance."""
    memory_percent: Thresholds = field(default_factory=_default("memory_percent"))
    """Host memory that the containers of an instance use, in percent: of the fullest instance, or
    of the fullest copy of an inference component."""
    disk_percent: Thresholds = field(default_factory=_default("disk_percent"))
    """Storage for models in use, in percent."""
    cache_hit_rate_below: Thresholds = field(default_factory=_default("cache_hit_rate_below"))
    """Share of requests whose model was in memory, 0 to 1: the alarm is for values below."""
    loading_wait_max_ms: Thresholds = field(default_factory=_default("loading_wait_max_ms"))
    """Longest wait for a model to load, in milliseconds (the metric has no percentiles)."""
    unloads_per_minute: Thresholds = field(default_factory=_default("unloads_per_minute"))
    """Models unloaded to make room for others. A high rate means that memory is too small."""
    loaded_models_below: Thresholds = field(default_factory=_default("loaded_models_below"))
    """Number of models in memory: the alarm is for lower values while there are requests."""
