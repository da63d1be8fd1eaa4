"""What is measured of the models of multi-model containers, when something happens to them."""

from collections.abc import Callable

from local_sagemaker.hosting.container import ModelStep, Step
from local_sagemaker.metrics import names
from local_sagemaker.metrics.collected import Collected, Place

_MICRO = 1e6
_OF_STEPS = {
    Step.DOWNLOAD: names.DOWNLOADING_TIME,
    Step.LOAD: names.LOADING_TIME,
    Step.UNLOAD: names.UNLOADING_TIME,
}


def model_report(collected: Collected) -> Callable[[str, str, ModelStep], None]:
    """Return what takes in how many seconds the steps of an endpoint's variant took."""

    def report(endpoint: str, variant: str, told: ModelStep) -> None:
        if metric := _OF_STEPS.get(told.step):
            collected.add(metric, Place(endpoint, variant), told.seconds * _MICRO)

    return report
