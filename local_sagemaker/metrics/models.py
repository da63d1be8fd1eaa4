"""Metrics of the models of multi-model containers: load, unload and download times."""

from collections.abc import Callable

from local_sagemaker.hosting.container import ModelStep, ModelStepKind
from local_sagemaker.metrics import names
from local_sagemaker.metrics.metric_buffer import MetricBuffer, MetricDimensions

_MICROSECONDS_PER_SECOND = 1e6
_METRICS = {
    ModelStepKind.DOWNLOAD: names.DOWNLOADING_TIME,
    ModelStepKind.LOAD: names.LOADING_TIME,
    ModelStepKind.UNLOAD: names.UNLOADING_TIME,
}


def model_step_recorder(buffer: MetricBuffer) -> Callable[[str, str, ModelStep], None]:
    """Return a function that adds the duration of a model step to the buffer.

    Its arguments are endpoint, variant and step.
    """

    def record(endpoint: str, variant: str, step: ModelStep) -> None:
        if metric := _METRICS.get(step.kind):
            microseconds = step.seconds * _MICROSECONDS_PER_SECOND
            buffer.add(metric, MetricDimensions(endpoint, variant), microseconds)

    return record
