"""A container in mode SingleModel: one archive, loaded when it starts."""

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.container import Call


class SingleModelContainer:
    """Keeps the contract between SageMaker and a container: GET /ping, POST /invocations.

    `disk_bytes` is what its archive takes, unpacked.
    """

    loaded_models = None

    def __init__(self, invocations: str = "/invocations", *, disk_bytes: int = 0) -> None:
        self._call = Call(invocations)
        self.disk_bytes = disk_bytes

    def acquire(self, target_model: str | None) -> Call:
        """Raise `ApiError` when a TargetModel is given."""
        if target_model:
            raise ApiError(
                "ValidationError",
                "TargetModel is only supported for multi-model endpoints, which this is not.",
            )
        return self._call

    def release(self, call: Call) -> None:
        """Nothing is unloaded."""

    def has(self, target_model: str | None) -> bool:
        """It was loaded when the container started."""
        return True
