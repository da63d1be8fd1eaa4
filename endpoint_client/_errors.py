"""The exceptions of the client, which the package's docstring lists."""

import re
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from botocore import exceptions as aws
from urllib3 import exceptions as http


class EndpointError(Exception):
    """The base class of the client's exceptions.

    `status` is the HTTP status of AWS's response, in `ModelFailed` the container's; `request_id` is
    AWS's request ID. Both are None without a response. `retry_safe` is true if the model has not
    received the request, so that a retry cannot run it twice.
    """

    retry_safe = False

    def __init__(
        self, message: str, *, status: int | None = None, request_id: str | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.request_id = status, request_id


class InvalidInput(EndpointError):
    """The inputs, outputs or parameters do not fit the model's signature."""


class UnknownModel(EndpointError):
    """The catalog has no model of that name."""


class NotSent(EndpointError):
    """A request that was not sent: no connection in time, no credentials, or no catalog."""

    retry_safe = True


class Unsendable(NotSent):
    """A request that cannot be sent before credentials, certificates or a proxy change."""


class Throttled(EndpointError):
    """AWS throttles the account's requests."""

    retry_safe = True


class ModelNotReady(EndpointError):
    """The model is still loading, or Triton does not have it."""

    retry_safe = True


class NoCapacity(EndpointError):
    """No instance is in service, or Triton's queue is full (503)."""

    retry_safe = True


class NoCopies(NoCapacity):
    """The inference component has no copy in service: it has scaled to zero, or is starting."""


class ModelFailed(EndpointError):
    """Triton rejected the request, or the model failed; the message is Triton's."""


class NoResponse(EndpointError):
    """A sent request without a complete response: a time-out, or a connection error."""


class PartlyFailed(EndpointError):
    """Some rows of `invoke_many` failed.

    `failures` are the errors of the failed rows by index. `outputs` are the arrays of the other
    rows; `rows` are the indices of these rows, in the same order.
    """

    failures: dict[int, EndpointError]
    rows: list[int]
    outputs: dict[str, Any]


_THROTTLING_CODES = re.compile("Throttl|TooManyRequests|RequestLimitExceeded|SlowDown")
"""Source: `ThrottledRetryableChecker` in botocore/retries/standard.py."""
_NO_COPIES_MESSAGE = "Inference Component has no capacity to process this request."
"""Message of a ValidationError. Source: AWS Machine Learning Blog, "Unlock cost savings with the
new scale down to zero feature in SageMaker Inference"."""
_UNKNOWN_MODEL = re.compile(
    r'\{"error":"(Request for unknown model|Identifier of model .* is not found in global map)'
)
"""Triton's error for a model that it unloaded by itself. A loaded model may get it, too, while
others are loaded and unloaded: `FindModelIdentifier` reads `global_map_` without the lock under
which `LoadUnloadModels` replaces it (triton-inference-server/core,
src/model_repository_manager/model_repository_manager.cc)."""
_HTTP_ERRORS = (aws.HTTPClientError, aws.IncompleteReadError, http.HTTPError)
_NO_CONNECTION_ERRORS = (
    http.ClosedPoolError,
    http.ConnectTimeoutError,
    http.NewConnectionError,
    http.ProxyError,
)
_PERMANENT_ERRORS = (
    aws.NoCredentialsError,
    aws.PartialCredentialsError,
    aws.SSOError,
    http.LocationValueError,  # an invalid proxy URL
    ssl.SSLCertVerificationError,  # the reason of urllib3's SSLError
)


@contextmanager
def translate_errors(subject: str, no_response: type[EndpointError] = NoResponse) -> Iterator[None]:
    """Raise errors of an AWS request as an `EndpointError` about `subject`.

    `no_response` is the type for sent requests without a response.
    """
    try:
        yield
    except aws.ClientError as error:
        raise _from_response(subject, error) from error
    except (aws.BotoCoreError, http.HTTPError, OSError) as error:  # OSError: an unreadable file
        error_type: type[EndpointError] = NotSent
        reasons = error, *error.args
        if isinstance(error, aws.ParamValidationError):
            error_type = InvalidInput
        elif _has_instance(reasons, _PERMANENT_ERRORS):
            error_type = Unsendable
        elif isinstance(error, _HTTP_ERRORS) and not _has_instance(reasons, _NO_CONNECTION_ERRORS):
            error_type = no_response
        raise error_type(f"{subject}: {error}") from error
    except ValueError as error:  # http.client rejects a header with a line break
        raise InvalidInput(f"{subject}: {error}") from error


def _has_instance(reasons: Iterable[object], types: tuple[type[Exception], ...]) -> bool:
    return any(isinstance(reason, types) for reason in reasons)


def _from_response(subject: str, error: aws.ClientError) -> EndpointError:
    """Return the exception for an error response of AWS.

    Source of the codes and of a ModelError's members: botocore's model of sagemaker-runtime. If a
    container does not respond within 60 s, SageMaker returns a ModelError with the original status
    0 and the message "Your invocation timed out" (RamVegiraju/SageMaker-Deployment#3).
    """
    response: Any = error.response
    code, message = response["Error"].get("Code", ""), response["Error"].get("Message", "")
    metadata = response.get("ResponseMetadata", {})
    status, request_id = metadata.get("HTTPStatusCode"), metadata.get("RequestId")
    error_type = EndpointError
    if code == "ModelError":
        status = response.get("OriginalStatusCode")
        message = response.get("OriginalMessage") or message
        error_type = {0: NoResponse, 503: NoCapacity}.get(status, ModelFailed)
        if status == 400 and _UNKNOWN_MODEL.match(message):
            error_type = ModelNotReady
    elif code in ("InternalStreamFailure", "ModelStreamError"):
        error_type = NoResponse
    elif code == "ModelNotReadyException":
        error_type = ModelNotReady
    elif message.startswith(_NO_COPIES_MESSAGE):
        error_type = NoCopies
    elif status == 503:
        error_type = NoCapacity
    elif status == 429 or _THROTTLING_CODES.search(code):
        error_type = Throttled
    return error_type(f"{subject}: {message or code}", status=status, request_id=request_id)
