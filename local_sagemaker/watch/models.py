"""The dashboard's events about models of multi-model containers."""

import re
from collections.abc import Callable

from local_sagemaker.dashboard_events import DashboardEvent, EventKind, OnEvent
from local_sagemaker.hosting.capacity import MIB
from local_sagemaker.hosting.container import ModelStep, ModelStepKind

_STEPS = {
    ModelStepKind.DOWNLOADING: (EventKind.MODEL_DOWNLOADING, "{name} was requested."),
    ModelStepKind.DOWNLOAD: (
        EventKind.MODEL_DOWNLOADED,
        "{name} was downloaded in {seconds:.1f} s: {size:.1f} MiB unpacked.",
    ),
    ModelStepKind.LOADING: (EventKind.MODEL_LOADING, "{name} is being loaded."),
    ModelStepKind.LOAD: (
        EventKind.MODEL_LOADED,
        "{name} was loaded in {seconds:.1f} s: {size:.1f} MiB on the volume.",
    ),
    ModelStepKind.UNLOADING: (EventKind.MODEL_UNLOADING, "{name} is being unloaded{room}."),
    ModelStepKind.UNLOAD: (
        EventKind.MODEL_UNLOADED,
        "{name} was unloaded in {seconds:.1f} s{room}.",
    ),
    ModelStepKind.DELETE: (
        EventKind.MODEL_DELETED,
        "{name} was deleted from the volume{room}.",
    ),
    ModelStepKind.FAIL: (EventKind.MODEL_FAILED, "{name} is not loaded: {why}"),
}
_ARCHIVE = re.compile(r"(?:.*/)?([^/]+)-[0-9a-f]{12}\.tar\.gz")


def model_events(tell: OnEvent) -> Callable[[str, str, str, ModelStep], None]:
    """Return a function that reports model steps as events."""

    def report(endpoint: str, variant: str, instance: str, step: ModelStep) -> None:
        kind, sentence = _STEPS[step.step]
        if step.step is ModelStepKind.UNLOAD and step.room_for:
            kind = EventKind.MODEL_EVICTED
        message = sentence.format(
            name=model_name(step.target_model),
            seconds=step.seconds,
            size=step.bytes / MIB,
            room=f" to make room for {model_name(step.room_for)}" if step.room_for else "",
            why=step.why,
        )
        tell(DashboardEvent(kind, message, endpoint, variant, instance, step.target_model))

    return report


def model_name(target_model: str) -> str:
    """Return the catalog's name of a published archive NAME-DIGEST.tar.gz; others are unchanged."""
    match = _ARCHIVE.fullmatch(target_model)
    return match[1] if match else target_model
