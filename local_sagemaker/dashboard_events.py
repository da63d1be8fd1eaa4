"""Types of the dashboard's events; `watch.events` stores the events."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class EventKind(StrEnum):
    """The kind of an event."""

    INSTANCE_STARTED = "instance started"
    INSTANCE_HEALTHY = "instance healthy"
    INSTANCE_UNHEALTHY = "instance unhealthy"
    INSTANCE_REPLACED = "instance replaced"
    INSTANCE_LEAVING = "instance leaving"
    INSTANCE_ENDED = "instance ended"
    MODEL_DOWNLOADING = "model downloading"
    MODEL_DOWNLOADED = "model downloaded"
    MODEL_LOADING = "model loading"
    MODEL_LOADED = "model loaded"
    MODEL_UNLOADING = "model unloading"
    MODEL_UNLOADED = "model unloaded"
    MODEL_EVICTED = "model evicted"
    MODEL_DELETED = "model deleted"
    MODEL_FAILED = "model failed"
    MODEL_UNHEALTHY = "model unhealthy"
    ENDPOINT_STATUS = "endpoint status"
    ENDPOINT_ROLLED_BACK = "endpoint rolled back"
    ENDPOINT_DELETED = "endpoint deleted"
    SCALING = "scaling"
    SCALING_ENDED = "scaling ended"
    SCALING_FAILED = "scaling failed"
    ALARM = "alarm"
    ALARM_ENDED = "alarm ended"


@dataclass(frozen=True)
class DashboardEvent:
    """An event with a message for users.

    `model` is a target model. Fields that do not apply to the kind are None. `time` is in Unix
    seconds; None means the time at which the event is reported.
    """

    kind: EventKind
    message: str
    endpoint: str | None = None
    variant: str | None = None
    instance: str | None = None
    model: str | None = None
    time: float | None = None


OnEvent = Callable[[DashboardEvent], None]


def ignore_event(_: DashboardEvent) -> None:
    """Discard an event."""
