"""The dashboard's events about models of multi-model containers."""

import re

from local_sagemaker.dashboard_events import DashboardEvent, EventKind
from local_sagemaker.hosting.capacity import MIB
from local_sagemaker.hosting.container import ModelStep

_MESSAGES = {
    EventKind.MODEL_DOWNLOADING: "{name} was requested.",
    EventKind.MODEL_DOWNLOADED: "{name} was downloaded in {seconds:.1f} s: {size} unpacked.",
    EventKind.MODEL_LOADING: "{name} is being loaded.",
    EventKind.MODEL_LOADED: "{name} was loaded in {seconds:.1f} s: {size} on the volume.",
    EventKind.MODEL_UNLOADING: "{name} is being unloaded{room_for}.",
    EventKind.MODEL_UNLOADED: "{name} was unloaded in {seconds:.1f} s{room_for}.",
    EventKind.MODEL_DELETED: "{name} was deleted from the volume{room_for}.",
    EventKind.MODEL_FAILED: "{name} is not loaded: {reason}",
}
_PUBLISHED_ARCHIVE = re.compile(r"(?:.*/)?([^/]+)-[0-9a-f]{12}\.tar\.gz")


def model_event(endpoint: str, variant: str, instance: str, step: ModelStep) -> DashboardEvent:
    """Return the event of a model step."""
    is_eviction = step.kind is EventKind.MODEL_UNLOADED and step.room_for
    kind = EventKind.MODEL_EVICTED if is_eviction else step.kind
    size = step.bytes / MIB
    message = _MESSAGES[step.kind].format(
        name=model_name(step.target_model),
        seconds=step.seconds,
        size=f"{size:.1f} MiB" if size >= 1 else f"{step.bytes / 1024:.0f} KiB",
        room_for=f" to make room for {model_name(step.room_for)}" if step.room_for else "",
        reason=step.reason,
    )
    return DashboardEvent(kind, message, endpoint, variant, instance, step.target_model)


def model_name(target_model: str) -> str:
    """Return NAME if the target model is a published archive NAME-DIGEST.tar.gz, else all of it."""
    match = _PUBLISHED_ARCHIVE.fullmatch(target_model)
    return match[1] if match else target_model
