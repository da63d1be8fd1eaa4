"""What is measured of the models of multi-model containers, when something happens to them."""

from collections.abc import Callable

from local_sagemaker.hosting.container import ModelStep
from local_sagemaker.metrics import names
from local_sagemaker.metrics.collected import Collected, Place

_MICRO = 1e6
_OF_STEPS = {
    ModelStep.DOWNLOAD: names.DOWNLOADING_TIME,
    ModelStep.LOAD: names.LOADING_TIME,
    ModelStep.UNLOAD: names.UNLOADING_TIME,
}


def model_report(collected: Collected) -> Callable[[str, str, ModelStep, float], None]:
    """Return what takes in how many seconds a step of a model of an endpoint's variant took."""

    def report(endpoint: str, variant: str, step: ModelStep, seconds: float) -> None:
        collected.add(_OF_STEPS[step], Place(endpoint, variant), seconds * _MICRO)

    return report
