"""What SageMaker's two modes of a container have in common."""

from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

INVOKE_SECONDS = 60
"""How long a container may take to answer; source: InvokeEndpoint's API reference."""


@dataclass(frozen=True)
class Call:
    """An invocation under way: where the container answers it, from when it is ready on."""

    path: str
    ready: Future[None]


class Container(Protocol):
    """What knows where invocations are answered, in one of SageMaker's modes."""

    def called(self, target_model: str | None) -> AbstractContextManager[Call]:
        """Count an invocation as under way, for the length of the block. Raises `ApiError`."""

    def has(self, target_model: str | None) -> bool:
        """Whether an invocation can be answered without loading anything."""
