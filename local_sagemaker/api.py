"""AWS's JSON protocol, for services that ministack does not emulate."""

import json
import math
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import botocore.session
from botocore.validate import ParamValidator

from local_sagemaker.constraints import check_constraints
from local_sagemaker.errors import ApiError
from local_sagemaker.members import check_supported

Response = tuple[int, dict[str, str], bytes]
"""Status, headers and body of an HTTP response."""
Operation = Callable[[dict[str, Any]], dict[str, Any]]


class JsonService:
    """A service whose requests are validated with botocore's model and dispatched by operation.

    `operations` maps operation names to functions of the request. With `is_partial`, ministack
    answers the other operations of the service.
    """

    def __init__(
        self, service: str, operations: Mapping[str, Operation], *, is_partial: bool = False
    ) -> None:
        self._service = service
        self._model = botocore.session.get_session().get_service_model(service)
        self._operations = operations
        self._is_partial = is_partial

    @property
    def target_prefix(self) -> str:
        """The service's prefix in the header `X-Amz-Target`, without the dot."""
        return str(self._model.metadata["targetPrefix"])

    def handles(self, operation: str) -> bool:
        """Return whether this service answers an operation; if not, ministack does."""
        return operation in self._operations or not self._is_partial

    def answer(self, operation: str, body: bytes) -> Response:
        """Return the HTTP response to a request. Blocks until the operation has ended."""
        try:
            request = json.loads(body or b"{}", **_NUMBER_PARSERS)
        except (ValueError, RecursionError) as error:
            message = f"The body is not JSON: {error}"
            return error_response(ApiError("SerializationException", message))
        try:
            return json_response(200, self.call(operation, request))
        except ApiError as error:
            return error_response(error)

    def input_shape(self, name: str) -> Any:
        """Return botocore's input shape of an operation."""
        return self._model.operation_model(name).input_shape

    def call(self, name: str, request: dict[str, Any]) -> dict[str, Any]:
        """Validate a request and run its operation. Raises `ApiError`."""
        if name not in self._operations:
            raise not_emulated(name)
        shape = self.input_shape(name)
        try:
            report = ParamValidator().validate(request, shape)
        except RuntimeError as error:  # an impossible timestamp, or too deeply nested lists
            raise ApiError("SerializationException", str(error)) from None
        if report.has_errors():
            raise ApiError("ValidationException", report.generate_report())
        check_supported(self._service, request, shape)
        check_constraints(request, shape)
        return self._operations[name](request)


def _parse_number(text: str) -> int | float:
    """Parse a number of a request; AWS's types have at most 64 bits, without NaN and Infinity."""
    number = float(text)
    if not math.isfinite(number) or abs(number) >= 2**63:
        raise ValueError(f"{text[:20]} is not a 64-bit number")
    return int(text) if text.lstrip("-").isdigit() else number


_NUMBER_PARSERS: dict[str, Any] = dict.fromkeys(
    ("parse_int", "parse_float", "parse_constant"), _parse_number
)


def not_emulated(operation: str) -> ApiError:
    """Return the error for an operation that exists on AWS but is not emulated."""
    return ApiError(
        "UnknownOperationException", f"the local SageMaker has no {operation}: it is not emulated"
    )


def json_response(status: int, content: dict[str, Any]) -> Response:
    """Return an HTTP response of AWS's JSON protocol."""
    headers = {"Content-Type": "application/x-amz-json-1.1"}
    return status, headers, json.dumps(content).encode()


def error_response(error: ApiError) -> Response:
    """Return the HTTP response from which SDKs raise an exception with the error's code."""
    content = {"__type": error.code, "message": error.message, "Message": error.message}
    status, headers, body = json_response(error.status, {**content, **error.fields})
    return status, {**headers, "x-amzn-ErrorType": error.code}, body


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
