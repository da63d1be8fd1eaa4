"""AWS's JSON protocol, for the services that the emulator lacks."""

import asyncio
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import botocore.session
from botocore.validate import ParamValidator

from local_aws.constraints import refuse_violations
from local_aws.errors import ApiError

Answer = tuple[int, dict[str, str], bytes]
Operation = Callable[[dict[str, Any]], dict[str, Any]]


class JsonService:
    """Dispatches `X-Amz-Target` to functions, after validating input with botocore's own model.

    `operations` maps operation names to functions of the request's body.
    """

    def __init__(self, service: str, operations: Mapping[str, Operation]) -> None:
        self._model = botocore.session.get_session().get_service_model(service)
        self._operations = operations

    async def __call__(
        self, method: str, path: str, headers: dict[str, str], body: bytes, query: Any
    ) -> Answer:
        """Answer one request; the operation runs on a thread, since it may wait."""
        lowered = {name.lower(): value for name, value in headers.items()}
        name = lowered.get("x-amz-target", "").rpartition(".")[2]
        try:
            return await asyncio.to_thread(self._answer, name, body)
        except ApiError as error:
            return error_answer(error)

    def call(self, name: str, request: dict[str, Any]) -> dict[str, Any]:
        """Validate a request and run its operation. Raises `ApiError`."""
        if name not in self._operations:
            raise ApiError(
                "UnknownOperationException", f"the local AWS has no {name}: it is not emulated"
            )
        shape: Any = self._model.operation_model(name).input_shape
        try:
            report = ParamValidator().validate(request, shape)
        except RuntimeError as error:  # a timestamp of no calendar, a list too deep to show
            raise ApiError("SerializationException", str(error)) from None
        if report.has_errors():
            raise ApiError("ValidationException", report.generate_report())
        refuse_violations(request, shape)
        return self._operations[name](request)

    def _answer(self, name: str, body: bytes) -> Answer:
        try:
            request = json.loads(body or b"{}", **_NUMBERS)
        except (ValueError, RecursionError) as error:
            raise ApiError("SerializationException", f"The body is no JSON: {error}") from None
        return json_answer(200, self.call(name, request))


def _number(text: str) -> int | float:
    """Read a number of a request; AWS's types have 64 bits at most, and no NaN or Infinity."""
    number = float(text)
    if not math.isfinite(number) or abs(number) >= 2**63:
        raise ValueError(f"{text[:20]} is not a number that AWS takes")
    return int(text) if text.lstrip("-").isdigit() else number


_NUMBERS: dict[str, Any] = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), _number)


def json_answer(status: int, content: dict[str, Any]) -> Answer:
    """Return an HTTP answer of AWS's JSON protocol."""
    headers = {"Content-Type": "application/x-amz-json-1.1"}
    return status, headers, json.dumps(content).encode()


def error_answer(error: ApiError) -> Answer:
    """Return the answer that an SDK turns into an exception of the same code."""
    content = {"__type": error.code, "message": error.message, "Message": error.message}
    status, headers, body = json_answer(error.status, {**content, **error.fields})
    return status, {**headers, "x-amzn-ErrorType": error.code}, body
