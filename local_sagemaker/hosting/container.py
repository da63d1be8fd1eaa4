"""What SageMaker's two modes of a container have in common."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Protocol


class ModelStep(Enum):
    """A step of a model of a multi-model container that has succeeded."""

    DOWNLOAD = auto()
    LOAD = auto()
    UNLOAD = auto()


Report = Callable[[ModelStep, float], None]
"""Takes a step and the seconds that it took."""


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
    """What knows where invocations are answered, in one of SageMaker's modes."""

    def acquire(self, target_model: str | None) -> Call:
        """Count an invocation as in progress, until `release`. Raise `ApiError`."""

    def release(self, call: Call) -> None:
        """Count an invocation as answered."""

    def has(self, target_model: str | None) -> bool:
        """Whether an invocation can be answered without loading anything."""

    @property
    def loaded_models(self) -> int | None:
        """How many models are in memory; None in mode SingleModel, where nobody counts them."""

    @property
    def disk_bytes(self) -> int:
        """What its models take of the volume."""
