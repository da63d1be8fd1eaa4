"""A container in mode SingleModel: one archive, loaded when it starts."""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from local_aws.errors import ApiError
from local_aws.hosting.container import Call


class SingleModelContainer:
    """Keeps the contract between SageMaker and a container: GET /ping, POST /invocations."""

    def __init__(self) -> None:
        ready = Future[None]()
        ready.set_result(None)
        self._call = Call("/invocations", ready)

    @contextmanager
    def called(self, target_model: str | None) -> Iterator[Call]:
        """Raise `ApiError` when a TargetModel is given."""
        if target_model:
            raise ApiError(
                "ValidationError",
                "TargetModel is only supported for multi-model endpoints, which this is not.",
            )
        yield self._call

    def has(self, target_model: str | None) -> bool:
        """It was loaded when the container started."""
        return True
