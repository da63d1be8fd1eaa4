"""The exceptions of the client; drawn in the package's docstring."""

import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from botocore import exceptions as aws
from urllib3 import exceptions as http


class EndpointError(Exception):
    """Base of all that the client raises.

    `status` is the HTTP status of AWS's answer, of the container's in `ModelFailed`; `request_id`
    is AWS's; both are None where there was no answer. `retry_safe` says that the model has not seen
    the request, so that sending it again cannot run it twice.
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
    """Nothing was sent: no connection in time, no credentials, or the catalog cannot be read."""

    retry_safe = True


class Unsendable(NotSent):
    """A request that cannot be sent before credentials, certificates or a proxy change."""


class Throttled(EndpointError):
    """AWS refused the request because the account sends too many."""

    retry_safe = True


class ModelNotReady(EndpointError):
    """SageMaker still loads the model."""

    retry_safe = True


class NoCapacity(EndpointError):
    """No instance is in service, or Triton's queue is full (503)."""

    retry_safe = True


class NoCopies(NoCapacity):
    """The inference component has no copy in service: it has scaled to zero, or still starts."""


class ModelFailed(EndpointError):
    """Triton refused the request or the model; the message has its words."""


class NoResponse(EndpointError):
    """The request was sent, and no whole answer came: a time-out, or the connection broke."""


class PartlyFailed(EndpointError):
    """Some rows of `invoke_many` failed.

    `failures` has the error of each row that failed, by its index. `outputs` are arrays of the
    other rows, whose indices are in `rows`, in the same order.
    """

    failures: dict[int, EndpointError]
    rows: list[int]
    outputs: dict[str, Any]


_THROTTLED = re.compile("Throttl|TooManyRequests|RequestLimitExceeded|SlowDown")
"""Source: `ThrottledRetryableChecker` in botocore/retries/standard.py."""
_NO_COPIES = "Inference Component has no capacity to process this request."
"""Of a ValidationError. Source: AWS Machine Learning Blog, "Unlock cost savings with the new scale
down to zero feature in SageMaker Inference"."""
_SENT = (aws.HTTPClientError, aws.IncompleteReadError, http.HTTPError)
_UNSENT = (
    http.ClosedPoolError,
    http.ConnectTimeoutError,
    http.NewConnectionError,
    http.ProxyError,
)
_LASTING = (
    aws.NoCredentialsError,
    aws.PartialCredentialsError,
    aws.SSOError,
    http.LocationValueError,  # of a proxy's URL
    ssl.SSLCertVerificationError,  # the reason of urllib3's SSLError
)


@contextmanager
def named(subject: str, *, unanswered: type[EndpointError] = NoResponse) -> Iterator[None]:
    """Raise errors of an AWS request as an `EndpointError` about `subject`.

    `unanswered` is the kind for a request that was sent and not answered.
    """
    try:
        yield
    except aws.ClientError as error:
        raise _of_answer(subject, error) from error
    except aws.ParamValidationError as error:
        raise InvalidInput(f"{subject}: {error}") from error
    except (aws.BotoCoreError, http.HTTPError, OSError) as error:  # OSError: of a file
        kind: type[EndpointError] = NotSent
        reasons = error, *error.args
        if any(isinstance(reason, _LASTING) for reason in reasons):
            kind = Unsendable
        elif isinstance(error, _SENT) and not any(isinstance(each, _UNSENT) for each in reasons):
            kind = unanswered
        raise kind(f"{subject}: {error}") from error
    except ValueError as error:  # of http.client, for a header with a line break
        raise InvalidInput(f"{subject}: {error}") from error


def _of_answer(subject: str, error: aws.ClientError) -> EndpointError:
    """Return the exception for what AWS answered.

    Source of the codes and of a ModelError's members: botocore's model of sagemaker-runtime. A
    container that did not answer in 60 s is a ModelError whose original status is 0, with the words
    "Your invocation timed out" (RamVegiraju/SageMaker-Deployment#3).
    """
    answer: Any = error.response
    code, message = answer["Error"].get("Code", ""), answer["Error"].get("Message", "")
    metadata = answer.get("ResponseMetadata", {})
    status, request_id = metadata.get("HTTPStatusCode"), metadata.get("RequestId")
    kind = EndpointError
    if code == "ModelError":
        status = answer.get("OriginalStatusCode")
        message = answer.get("OriginalMessage") or message
        kind = {0: NoResponse, 503: NoCapacity}.get(status, ModelFailed)
    elif code in ("InternalStreamFailure", "ModelStreamError"):
        kind = NoResponse
    elif code == "ModelNotReadyException":
        kind = ModelNotReady
    elif message.startswith(_NO_COPIES):
        kind = NoCopies
    elif status == 503:
        kind = NoCapacity
    elif status == 429 or _THROTTLED.search(code):
        kind = Throttled
    return kind(f"{subject}: {message or code}", status=status, request_id=request_id)
