"""A container in mode SingleModel, which loads one archive at its start."""

import time

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.container import Call, ModelStatus, Phase


class SingleModelContainer:
    """A container with one model. Its contract with SageMaker is GET /ping and POST /invocations.

    `endpoint` is the endpoint's name, `archive` the name of the model's archive, and `disk_bytes`
    its unpacked size.
    """

    loaded_models = None
    is_loading = False

    def __init__(
        self, endpoint: str, invocations: str, *, disk_bytes: int = 0, archive: str = ""
    ) -> None:
        self._endpoint, self._call = endpoint, Call(invocations)
        self.disk_bytes, self._archive = disk_bytes, archive
        self._since = time.time()
        self._calls = self._answered = 0

    def acquire(self, target_model: str | None) -> Call:
        """Count an invocation as in progress. Raise `ApiError` if it has a TargetModel."""
        if target_model:
            raise ApiError(
                "ValidationError",  # sources: aws/amazon-sagemaker-examples#1026, #1216
                f"Endpoint {self._endpoint} is not a multi-model endpoint and does not support "
                "target model header.",
                ErrorCode="TARGET_MODEL_HEADER_NOT_SUPPORTED",
            )
        self._calls += 1
        return self._call

    def release(self, call: Call, *, unloaded: bool = False) -> None:
        """Count an invocation as completed."""
        self._calls -= 1
        self._answered += 1

    def has(self, target_model: str | None) -> bool:
        """Return True: Triton loads the model when it starts."""
        return True

    def statuses(self) -> list[ModelStatus]:
        """Return the status of the only model, which Triton loads before it answers a ping."""
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
