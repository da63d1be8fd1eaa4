"""The common interface of single-model and multi-model containers."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from local_sagemaker.dashboard_events import EventKind


@dataclass(frozen=True)
class ModelStep:
    """A step of a target model; `kind` is one of the kinds of models.

    `seconds` is the duration of a completed step, `bytes` the unpacked size of the model's files.
    `room_for` is the target model for which this model was evicted. `reason` explains a failure.
    """

    kind: EventKind
    target_model: str
    seconds: float = 0.0
    bytes: int = 0
    room_for: str | None = None
    reason: str = ""


Report = Callable[[ModelStep], None]


class Phase(StrEnum):
    """The state of a model in a container."""

    DOWNLOADING = "downloading"
    LOADING = "loading"
    LOADED = "loaded"
    UNLOADING = "unloading"


@dataclass(frozen=True)
class ModelStatus:
    """The status of a model in a container.

    `since` is the start of the phase in Unix seconds. `calls` is the number of calls in progress,
    `answered` the number of calls completed since the load. `bytes` is the size of the model's
    files; `folder` is part of the path of the model's processes.
    """

    target_model: str
    phase: Phase
    since: float
    calls: int
    answered: int
    bytes: int
    folder: str


@dataclass(frozen=True)
class Call:
    """An invocation in progress. `path` is its HTTP path in the container.

    If `load` is set, it must be awaited before the request is sent; it raises `ApiError` or
    `OSError`. `model` is private to the container.
    """

    path: str
    target_model: str | None = None
    load: "asyncio.Task[None] | None" = None
    model: Any = None


class Container(Protocol):
    """The Triton container of an instance, single-model or multi-model."""

    def acquire(self, target_model: str | None) -> Call:
        """Count an invocation as in progress until `release`. Raise `ApiError`."""

    def release(self, call: Call, *, unloaded: bool = False) -> None:
        """Count an invocation as completed.

        `unloaded` is whether it failed because the server does not have the model any more.
        """

    def has(self, target_model: str | None) -> bool:
        """Return whether a model is loaded, or its load has started."""

    @property
    def loaded_models(self) -> int | None:
        """The number of models in memory; None for a single-model container."""

    @property
    def is_loading(self) -> bool:
        """Whether a model is being loaded, for which the container makes room."""

    @property
    def disk_bytes(self) -> int:
        """The size of the unpacked models on the volume."""

    def statuses(self) -> list[ModelStatus]:
        """Return the models that were invoked and are not unloaded yet."""
