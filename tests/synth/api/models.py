"""What botocore's models say of a request: types, what is required, lengths, patterns, values."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import botocore.session
from botocore.model import Shape
from botocore.validate import ParamValidator

from local_sagemaker.constraints import refuse_violations
from local_sagemaker.errors import ApiError
from tests.synth.api.calls import Calls


@cache
def _session() -> botocore.session.Session:
    return botocore.session.get_session()


@cache
def request_shape(service: str, operation: str) -> Any:
    """Return the shape of a request."""
    return _session().get_service_model(service).operation_model(operation).input_shape


def _broken(parameters: dict[str, Any], shape: Shape) -> Iterator[str]:
    report = ParamValidator().validate(parameters, shape)
    if report.has_errors():
        yield report.generate_report()
        return
    try:
        refuse_violations(parameters, shape)
    except ApiError as error:
        yield str(error)


def model_violations(calls: Calls) -> Iterator[str]:
    """Yield what the services' models refuse, and properties that no request has a place for."""
    for call in calls.all:
        where = f"{call.made_for}: {call.operation}"
        if call.unused:
            yield f"{where} has no {', '.join(call.unused)}"
        if call.operation:
            shape = request_shape(call.service, call.operation)
            yield from (f"{where}: {each}" for each in _broken(call.parameters, shape))
