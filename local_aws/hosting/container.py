"""What SageMaker's two modes of a container have in common."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

INVOKE_SECONDS = 60
"""How long a container may take to answer; source: InvokeEndpoint's API reference."""


class Step(Enum):
    """What happens to a model of a multi-model container."""

    DOWNLOAD = auto()
    LOAD = auto()
    UNLOAD = auto()


Report = Callable[[Step, float], None]
"""Is told how many seconds a step took that has succeeded."""


@dataclass(frozen=True)
class Call:
    """An invocation under way: where the container answers it, once `load` is done if there is one.

    A load fails with `ApiError` or `OSError`.
    """

    path: str
    target_model: str | None
    load: Future[None] | None


class Container(Protocol):
    """What knows where invocations are answered, in one of SageMaker's modes."""

    def begin(self, target_model: str | None) -> Call:
        """Count an invocation as under way, until `end`. Raises `ApiError`."""

    def end(self, call: Call) -> None:
        """Count an invocation as answered."""

    def has(self, target_model: str | None) -> bool:
        """Whether an invocation can be answered without loading anything."""

    @property
    def loaded_models(self) -> int | None:
        """How many models are in memory; None in mode SingleModel, where nobody counts them."""

    @property
    def disk_bytes(self) -> int:
        """What its models take of the volume."""
