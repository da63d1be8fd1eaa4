"""The dashboard's events about models of multi-model containers."""

import re
from collections.abc import Callable

from local_sagemaker.dashboard_events import DashboardEvent, EventKind, OnEvent
from local_sagemaker.hosting.capacity import MIB
from local_sagemaker.hosting.container import ModelStep, ModelStepKind

_KINDS_AND_MESSAGES = {
    ModelStepKind.DOWNLOADING: (EventKind.MODEL_DOWNLOADING, "{name} was requested."),
    ModelStepKind.DOWNLOAD: (
        EventKind.MODEL_DOWNLOADED,
        "{name} was downloaded in {seconds:.1f} s: {size} unpacked.",
    ),
    ModelStepKind.LOADING: (EventKind.MODEL_LOADING, "{name} is being loaded."),
    ModelStepKind.LOAD: (
        EventKind.MODEL_LOADED,
        "{name} was loaded in {seconds:.1f} s: {size} on the volume.",
    ),
    ModelStepKind.UNLOADING: (EventKind.MODEL_UNLOADING, "{name} is being unloaded{room_for}."),
    ModelStepKind.UNLOAD: (
        EventKind.MODEL_UNLOADED,
        "{name} was unloaded in {seconds:.1f} s{room_for}.",
    ),
    ModelStepKind.DELETE: (
        EventKind.MODEL_DELETED,
        "{name} was deleted from the volume{room_for}.",
    ),
    ModelStepKind.FAIL: (EventKind.MODEL_FAILED, "{name} is not loaded: {reason}"),
}
_PUBLISHED_ARCHIVE = re.compile(r"(?:.*/)?([^/]+)-[0-9a-f]{12}\.tar\.gz")


def model_event_reporter(on_event: OnEvent) -> Callable[[str, str, str, ModelStep], None]:
    """Return a function that reports a model step as an event.

    Its arguments are endpoint, variant, instance and step.
    """

    def report(endpoint: str, variant: str, instance: str, step: ModelStep) -> None:
        kind, template = _KINDS_AND_MESSAGES[step.kind]
        if step.kind is ModelStepKind.UNLOAD and step.room_for:
            kind = EventKind.MODEL_EVICTED
        size = step.bytes / MIB
        message = template.format(
            name=model_name(step.target_model),
            seconds=step.seconds,
            size=f"{size:.1f} MiB" if size >= 1 else f"{step.bytes / 1024:.0f} KiB",
            room_for=f" to make room for {model_name(step.room_for)}" if step.room_for else "",
            reason=step.reason,
        )
        on_event(DashboardEvent(kind, message, endpoint, variant, instance, step.target_model))

    return report


def model_name(target_model: str) -> str:
    """Return NAME if the target model is a published archive NAME-DIGEST.tar.gz, else all of it."""
    match = _PUBLISHED_ARCHIVE.fullmatch(target_model)
    return match[1] if match else target_model
