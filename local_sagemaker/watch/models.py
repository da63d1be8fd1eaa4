"""Sentences about the models of multi-model containers."""

import re
from collections.abc import Callable

from local_sagemaker.happenings import Happening, Kind, Tell
from local_sagemaker.hosting.capacity import MIB
from local_sagemaker.hosting.container import ModelStep, Step

_STEPS = {
    Step.DOWNLOADING: (Kind.MODEL_DOWNLOADING, "{name} was asked for."),
    Step.DOWNLOAD: (
        Kind.MODEL_DOWNLOADED, "{name} was downloaded in {seconds:.1f} s: {size:.1f} MiB unpacked."
    ),
    Step.LOADING: (Kind.MODEL_LOADING, "{name} is being loaded."),
    Step.LOAD: (
        Kind.MODEL_LOADED, "{name} was loaded in {seconds:.1f} s: {size:.1f} MiB on the volume."
    ),
    Step.UNLOADING: (Kind.MODEL_UNLOADING, "{name} is being unloaded{room}."),
    Step.UNLOAD: (Kind.MODEL_UNLOADED, "{name} was unloaded in {seconds:.1f} s{room}."),
    Step.DELETE: (Kind.MODEL_DELETED, "{name} was deleted from the volume{room}."),
    Step.FAIL: (Kind.MODEL_FAILED, "{name} is not loaded: {why}"),
}  # fmt: skip
_ARCHIVE = re.compile(r"(?:.*/)?([^/]+)-[0-9a-f]{12}\.tar\.gz")


def model_events(tell: Tell) -> Callable[[str, str, str, ModelStep], None]:
    """Return what takes in the steps of an instance's models, by endpoint, variant and instance."""

    def report(endpoint: str, variant: str, instance: str, step: ModelStep) -> None:
        kind, sentence = _STEPS[step.step]
        if step.step is Step.UNLOAD and step.room_for:
            kind = Kind.MODEL_EVICTED
        message = sentence.format(
            name=model_name(step.target_model),
            seconds=step.seconds,
            size=step.bytes / MIB,
            room=f" to make room for {model_name(step.room_for)}" if step.room_for else "",
            why=step.why,
        )
        tell(Happening(kind, message, endpoint, variant, instance, step.target_model))

    return report


def model_name(target_model: str) -> str:
    """Return the catalog's name of a model; of an archive that publishing did not name, its own."""
    match = _ARCHIVE.fullmatch(target_model)
    return match[1] if match else target_model
