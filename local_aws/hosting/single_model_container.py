"""A container in mode SingleModel: one archive, loaded when it starts."""

from local_aws.errors import ApiError
from local_aws.hosting.multi_model_container import INVOKE_SECONDS
from local_aws.hosting.triton import Response, Triton


class SingleModelContainer:
    """Keeps the contract between SageMaker and a container: GET /ping, POST /invocations."""

    def __init__(self, triton: Triton, *, invocations: str = "/invocations") -> None:
        self._triton, self._invocations = triton, invocations

    def invoke(self, target_model: str | None, *, body: bytes, headers: dict[str, str]) -> Response:
        """Forward one invocation. Raises `ApiError` when a TargetModel is given."""
        if target_model:
            raise ApiError(
                "ValidationError",
                "TargetModel is only supported for multi-model endpoints, which this is not.",
            )
        return self._triton.request(
            "POST", self._invocations, body=body, headers=headers, timeout=INVOKE_SECONDS
        )
