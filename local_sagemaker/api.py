"""The services that the local SageMaker answers itself, in AWS's JSON protocol."""

import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from botocore import xform_name

from local_sagemaker.errors import ApiError
from local_sagemaker.validation import protocols
from local_sagemaker.validation.documented import check_references
from local_sagemaker.validation.members import check_supported
from local_sagemaker.validation.model import check_constraints, check_rules
from local_sagemaker.validation.protocols import Response, error_response, json_response


class JsonService:
    """A service whose requests are validated with botocore's model and dispatched by operation.

    An operation is the function of the same name in `implementations`, such as `create_model` for
    CreateModel, which is called with the request. ministack answers requests for which `forwards`,
    called with operation and request, returns True.
    """

    def __init__(
        self,
        service: str,
        *implementations: Any,
        forwards: Callable[[str, dict[str, Any]], bool] = lambda *_: False,
    ) -> None:
        self._service, self.forwards = service, forwards
        self._model = protocols.service_model(service)
        self.operations: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {}
        for implementation in implementations:
            for name in self._model.operation_names:
                if function := getattr(implementation, xform_name(name), None):
                    self.operations.setdefault(name, function)

    @property
    def target_prefix(self) -> str:
        """The service's prefix in the header `X-Amz-Target`, without the dot."""
        return str(self._model.metadata["targetPrefix"])

    def answer(self, operation: str, body: bytes) -> Response | None:
        """Return the response to a request, None if it is ministack's. Blocks until its end."""
        try:
            request = protocols.parse_json(body)
            if self.forwards(operation, request):
                return None
            return json_response(200, self.call(operation, request))
        except ApiError as error:
            return error_response(error)

    def input_shape(self, name: str) -> Any:
        """Return botocore's input shape of an operation."""
        return self._model.operation_model(name).input_shape

    def call(self, name: str, request: dict[str, Any]) -> dict[str, Any]:
        """Validate a request and run its operation. Raise `ApiError`."""
        if name not in self.operations:
            raise not_emulated(name)
        shape = self.input_shape(name)
        check_constraints(self._service, name, request, shape)
        check_supported(self._service, request, shape)
        check_rules(self._service, name, request)
        return self.operations[name](request)


def not_emulated(operation: str) -> ApiError:
    """Return the error for an operation that exists on AWS but is not emulated."""
    return ApiError(
        "UnknownOperationException", f"the local SageMaker has no {operation}: it is not emulated"
    )


def refusal(
    url: str,
    headers: dict[str, str],
    body: bytes,
    *,
    method: str = "POST",
    ask: Callable[[str, dict[str, Any]], Any] = lambda *_: None,
) -> Response | None:
    """Return the error response to an invalid request that ministack would answer, or None.

    `ask(operation, request)` sends a request to ministack, and raises `ClientError`.
    """
    try:
        request = protocols.parse(url, headers, body, method=method)
        if request and request.shape:
            service, operation = request.service, request.operation
            check_constraints(service, operation, request.members, request.shape)
            check_rules(service, operation, request.members)
            check_references(f"{service}:{operation}", request.members, ask)
    except ApiError as error:
        return protocols.error_response_to(error, url, headers)
    return None


async def send_response(
    send: Callable[[Any], Awaitable[None]],
    response: Response,
    before_end: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Send a response through ASGI; `before_end` runs before the last, empty body message."""
    status, headers, body = response
    all_headers = {
        **headers,
        "x-amzn-RequestId": str(uuid.uuid4()),
        "Content-Length": str(len(body)),
    }
    encoded = [(name.lower().encode(), value.encode()) for name, value in all_headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body, "more_body": before_end is not None})
    if before_end:
        await before_end()
        await send({"type": "http.response.body"})
