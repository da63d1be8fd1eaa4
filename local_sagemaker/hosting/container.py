"""The interface of SageMaker's two container modes, single-model and multi-model."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import Any, Protocol


class ModelStepKind(Enum):
    """Steps of a model: -ING is a start, FAIL a failure, the others are completed steps.

    DELETE is the deletion of an unloaded model's files from the volume.
    """

    DOWNLOADING = auto()
    DOWNLOAD = auto()
    LOADING = auto()
    LOAD = auto()
    UNLOADING = auto()
    UNLOAD = auto()
    DELETE = auto()
    FAIL = auto()


@dataclass(frozen=True)
class ModelStep:
    """A step of a target model, and the duration of a completed step.

    `bytes` is the unpacked size of its files. `room_for` is the target model for which it was
    evicted. `why` is the reason of a failure.
    """

    step: ModelStepKind
    target_model: str
    seconds: float = 0.0
    bytes: int = 0
    room_for: str | None = None
    why: str = ""


Report = Callable[[ModelStep], None]


class Phase(StrEnum):
    """The state of a model in a container."""

    DOWNLOADING = "downloading"
    LOADING = "loading"
    LOADED = "loaded"
    UNLOADING = "unloading"


@dataclass(frozen=True)
class ModelStatus:
    """A model of a container: its phase since a time in Unix seconds, and its calls.

    `calls` is the number in progress, `answered` the number completed since it was loaded. `bytes`
    is the size of its files; `folder` is part of the path of its processes.
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
    """An invocation in progress: the container's path for it, and a `load` to await before.

    A load raises `ApiError` or `OSError`. `model` is private to the container.
    """

    path: str
    target_model: str | None = None
    load: "asyncio.Task[None] | None" = None
    model: Any = None


class Container(Protocol):
    """The Triton of an instance, in one of SageMaker's modes."""

    def acquire(self, target_model: str | None) -> Call:
        """Count an invocation as in progress until `release`. Raise `ApiError`."""

    def release(self, call: Call) -> None:
        """Count an invocation as completed."""

    def has(self, target_model: str | None) -> bool:
        """Return whether an invocation needs no new load."""

    @property
    def loaded_models(self) -> int | None:
        """The number of models in memory; None in mode SingleModel."""

    @property
    def disk_bytes(self) -> int:
        """The size of its models on the volume."""

    def statuses(self) -> list[ModelStatus]:
        """Return the models that were invoked and are not unloaded yet."""
