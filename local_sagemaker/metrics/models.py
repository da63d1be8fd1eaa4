"""Metrics of the models of multi-model containers: load, unload and download times."""

from collections.abc import Callable

from local_sagemaker.hosting.container import ModelStep, ModelStepKind
from local_sagemaker.metrics import names
from local_sagemaker.metrics.metric_buffer import MetricBuffer, MetricDimensions

_MICRO = 1e6
_OF_STEPS = {
    ModelStepKind.DOWNLOAD: names.DOWNLOADING_TIME,
    ModelStepKind.LOAD: names.LOADING_TIME,
    ModelStepKind.UNLOAD: names.UNLOADING_TIME,
}


def model_report(collected: MetricBuffer) -> Callable[[str, str, ModelStep], None]:
    """Return a function that records the durations of model steps by endpoint and variant."""

    def report(endpoint: str, variant: str, step: ModelStep) -> None:
        if metric := _OF_STEPS.get(step.step):
            collected.add(metric, MetricDimensions(endpoint, variant), step.seconds * _MICRO)

    return report
