"""What happens to the models of multi-model containers, in sentences."""

import re
from collections.abc import Callable

from local_sagemaker.happenings import Happening, Kind, Tell
from local_sagemaker.hosting.capacity import MIB
from local_sagemaker.hosting.container import ModelStep, Step

_KINDS = {
    Step.DOWNLOADING: Kind.MODEL_DOWNLOADING,
    Step.DOWNLOAD: Kind.MODEL_DOWNLOADED,
    Step.LOADING: Kind.MODEL_LOADING,
    Step.LOAD: Kind.MODEL_LOADED,
    Step.UNLOADING: Kind.MODEL_UNLOADING,
    Step.UNLOAD: Kind.MODEL_UNLOADED,
    Step.DELETE: Kind.MODEL_DELETED,
    Step.FAIL: Kind.MODEL_FAILED,
}
_ARCHIVE = re.compile(r"(?:.*/)?([^/]+)-[0-9a-f]{12}\.tar\.gz")


def model_events(tell: Tell) -> Callable[[str, str, str, ModelStep], None]:
    """Return what takes in the steps of an instance's models, by endpoint, variant and instance."""

    def report(endpoint: str, variant: str, instance: str, step: ModelStep) -> None:
        evicted = step.step is Step.UNLOAD and step.room_for
        kind = Kind.MODEL_EVICTED if evicted else _KINDS[step.step]
        tell(Happening(kind, _said(step), endpoint, variant, instance, step.target_model))

    return report


def model_name(target_model: str) -> str:
    """Return the catalog's name of a model; of an archive that publishing did not name, its own."""
    match = _ARCHIVE.fullmatch(target_model)
    return match[1] if match else target_model


def _said(step: ModelStep) -> str:
    name, size = model_name(step.target_model), f"{step.bytes / MIB:.1f} MiB"
    room = f" to make room for {model_name(step.room_for)}" if step.room_for else ""
    match step.step:
        case Step.DOWNLOADING:
            return f"{name} was asked for."
        case Step.DOWNLOAD:
            return f"{name} was downloaded in {step.seconds:.1f} s: {size} unpacked."
        case Step.LOADING:
            return f"{name} is being loaded."
        case Step.LOAD:
            return f"{name} was loaded in {step.seconds:.1f} s: {size} on the volume."
        case Step.UNLOADING:
            return f"{name} is being unloaded{room}."
        case Step.UNLOAD:
            return f"{name} was unloaded in {step.seconds:.1f} s{room}."
        case Step.DELETE:
            return f"{name} was deleted from the volume{room}."
        case Step.FAIL:
            return f"{name} is not loaded: {step.why}"
