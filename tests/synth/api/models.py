"""Validation of requests by the service models of botocore."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import botocore.session
from botocore.model import Shape

from local_sagemaker.errors import ApiError
from local_sagemaker.validation.model import check_request
from tests.synth.api.calls import Calls


@cache
def _session() -> botocore.session.Session:
    return botocore.session.get_session()


@cache
def request_shape(service: str, operation: str) -> Any:
    """Return the botocore shape of a request."""
    return _session().get_service_model(service).operation_model(operation).input_shape


def _violations(parameters: dict[str, Any], shape: Shape) -> Iterator[str]:
    try:
        check_request(parameters, shape)
    except ApiError as error:
        yield str(error)


def model_violations(calls: Calls) -> Iterator[str]:
    """Yield violations of the service models, and properties that are in no request."""
    for call in calls.all:
        where = f"{call.resource_id}: {call.operation}"
        if call.unused:
            yield f"{where} has no {', '.join(call.unused)}"
        if call.operation:
            shape = request_shape(call.service, call.operation)
            yield from (f"{where}: {problem}" for problem in _violations(call.parameters, shape))
