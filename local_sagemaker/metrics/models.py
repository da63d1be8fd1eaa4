"""Metrics of the models of multi-model containers: load, unload and download times."""

from local_sagemaker.dashboard_events import EventKind
from local_sagemaker.hosting.container import ModelStep
from local_sagemaker.metrics import names
from local_sagemaker.metrics.metric_buffer import MetricBuffer, MetricDimensions

_MICROSECONDS_PER_SECOND = 1e6
_METRICS = {
    EventKind.MODEL_DOWNLOADED: names.DOWNLOADING_TIME,
    EventKind.MODEL_LOADED: names.LOADING_TIME,
    EventKind.MODEL_UNLOADED: names.UNLOADING_TIME,
}


def add_model_step(buffer: MetricBuffer, endpoint: str, variant: str, step: ModelStep) -> None:
    """Add the duration of a model step to the buffer."""
    if metric := _METRICS.get(step.kind):
        microseconds = step.seconds * _MICROSECONDS_PER_SECOND
        buffer.add(metric, MetricDimensions(endpoint, variant), microseconds)
