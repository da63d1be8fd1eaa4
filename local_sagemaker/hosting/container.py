"""The interface of SageMaker's two container modes, single-model and multi-model."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import Any, Protocol


class ModelStepKind(Enum):
    """What happens to a model of a multi-model container: it begins, it has succeeded, or failed.

    A model that is deleted had been unloaded, and its files leave the volume.
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
    """A step of a target model, and the seconds that one took that has succeeded.

    `bytes` are those of its files, unpacked. `room_for` is the target model for which it had to go.
    `why` says what failed.
    """

    step: ModelStepKind
    target_model: str
    seconds: float = 0.0
    bytes: int = 0
    room_for: str | None = None
    why: str = ""


Report = Callable[[ModelStep], None]


class Phase(StrEnum):
    """The phase of a model's life in a container."""

    DOWNLOADING = "downloading"
    LOADING = "loading"
    LOADED = "loaded"
    UNLOADING = "unloading"


@dataclass(frozen=True)
class ModelStatus:
    """A model of a container: its phase, since when in Unix seconds, and its calls.

    `calls` are under way, `answered` have been since it was loaded. `bytes` are those of its files;
    `folder` is in the path of the processes that serve it.
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
    """An invocation in progress: where the container answers it, after `load` if there is one.

    A load fails with `ApiError` or `OSError`. `model` is the container's own record.
    """

    path: str
    target_model: str | None = None
    load: "asyncio.Task[None] | None" = None
    model: Any = None


class Container(Protocol):
    """The Triton of an instance, in one of SageMaker's modes."""

    def acquire(self, target_model: str | None) -> Call:
        """Count an invocation as in progress, until `release`. Raise `ApiError`."""

    def release(self, call: Call) -> None:
        """Count an invocation as answered."""

    def has(self, target_model: str | None) -> bool:
        """Whether an invocation can be answered without loading anything."""

    @property
    def loaded_models(self) -> int | None:
        """The number of models in memory; None in mode SingleModel."""

    @property
    def disk_bytes(self) -> int:
        """The bytes of its models on the volume."""

    def statuses(self) -> list[ModelStatus]:
        """Return the models that were called and have not been unloaded."""
