"""A container in mode SingleModel: one archive, loaded when it starts."""

import time

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.container import Call, ModelStatus, Phase


class SingleModelContainer:
    """Keeps the contract between SageMaker and a container: GET /ping, POST /invocations.

    `disk_bytes` is what its archive takes, unpacked; `archive` is the archive's name.
    """

    loaded_models = None

    def __init__(
        self, invocations: str = "/invocations", *, disk_bytes: int = 0, archive: str = ""
    ) -> None:
        self._call = Call(invocations)
        self.disk_bytes, self._archive = disk_bytes, archive
        self._since = time.time()
        self._calls = self._answered = 0

    def acquire(self, target_model: str | None) -> Call:
        """Raise `ApiError` when a TargetModel is given."""
        if target_model:
            raise ApiError(
                "ValidationError",
                "TargetModel is only supported for multi-model endpoints, which this is not.",
            )
        self._calls += 1
        return self._call

    def release(self, call: Call) -> None:
        """Count an invocation as answered; nothing is unloaded."""
        self._calls -= 1
        self._answered += 1

    def has(self, target_model: str | None) -> bool:
        """It was loaded when the container started."""
        return True

    def statuses(self) -> list[ModelStatus]:
        """Return its one model; Triton loads it before the first ping is answered."""
        return [
            ModelStatus(
                self._archive,
                Phase.LOADED,
                since=self._since,
                calls=self._calls,
                answered=self._answered,
                bytes=self.disk_bytes,
                folder="",
            )
        ]
