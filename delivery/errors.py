"""The errors of a delivery, with exit codes. Every message includes the next step."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import ClassVar

from botocore.exceptions import BotoCoreError, ClientError, UnauthorizedSSOTokenError

from endpoint_client import EndpointError

NO_CAPACITY = "InsufficientInstanceCapacity"
"""The error code in an endpoint's FailureReason, which CloudFormation repeats: "Unable to provision
requested ML compute capacity due to InsufficientInstanceCapacity error. [...]"
(aws/deep-learning-containers, tests of SageMaker endpoints)."""
CAPACITY_RUNBOOK = 'docs/runbook.md, "AWS has no capacity"'
FAILED_START = "did not pass the ping health check"
"""Part of an endpoint's FailureReason when a model cannot load, or not within its timeout
(aws/sagemaker-python-sdk#787)."""
START_RUNBOOK = 'docs/runbook.md, "An update was rolled back by CloudFormation"'
EXPIRED_CODES = ("ExpiredToken", "ExpiredTokenException", "RequestExpired")
"""Error codes for expired credentials.

Sources: "ExpiredTokenException" and "RequestExpired" are in the STS API reference, common errors;
"ExpiredToken" is in the S3 API reference, error responses, and in aws/aws-cdk#19359.
"""
CALLER_ERROR_CODES = (
    *("AccessDenied", "AccessDeniedException", "UnrecognizedClientException"),
    *("Throttling", "ThrottlingException", "TooManyRequestsException"),
)
"""Error codes for missing permissions and for throttling.

Sources: common errors in the API references of the services, and botocore's retryable codes.
"""


class DeliveryError(Exception):
    """A failed delivery: its exit code, and the `label` and `advice` around its message."""

    exit_code: ClassVar[int]
    label: ClassVar[str]
    advice: ClassVar[str] = ""
    """The next step, at the end of the message; `{stage}` is the stage's name."""


class NotDelivered(DeliveryError):
    """The old version is in service: nothing was changed, or the change was rolled back."""

    exit_code, label = 1, "not delivered"


class FaultyDeployment(DeliveryError):
    """The commit is deployed, and an endpoint or a model does not work as it should."""

    exit_code, label = 2, "deployed, but faulty"
    advice = "\n  Roll back: make rollback STAGE={stage}"


class EndpointLost(FaultyDeployment):
    """An endpoint was deleted or has failed; the message has the commands that create it again."""

    advice = ""


class RollbackFailed(FaultyDeployment):
    """CloudFormation could not roll a stack back; the rollback must be continued first."""

    advice = ""


class Unfinished(DeliveryError):
    """AWS is still working, or did not answer: the next delivery continues."""

    exit_code, label = 3, "unfinished"
    advice = (
        "\n  AWS finishes the operations in progress. Wait until no build runs (docs/runbook.md, "
        '"A delivery is unfinished"), then run the same command again: it waits for stacks and '
        "endpoints, and continues"
    )


class ChangedByHand(DeliveryError):
    """The catalog was changed by hand; the message has the command that resolves the difference."""

    exit_code, label = 4, "changed by hand"


class ModelsKept(DeliveryError):
    """The commit is deployed without models that could not be built."""

    exit_code, label = 5, "deployed, but not all models"
    advice = "\n  Mend these models, and deliver again; to try once more, deliver the same release"


def credentials_expired(error: BaseException | None) -> bool:
    """Return whether an error, or its cause, reports expired credentials."""
    if isinstance(error, ClientError):
        return error.response["Error"]["Code"] in EXPIRED_CODES
    if isinstance(error, UnauthorizedSSOTokenError):
        return True
    return error is not None and credentials_expired(error.__cause__)


def is_caller_error(error: BaseException | None) -> bool:
    """Return whether an error, or its cause, is about permissions, throttling or credentials."""
    if isinstance(error, ClientError) and error.response["Error"]["Code"] in CALLER_ERROR_CODES:
        return True
    return credentials_expired(error) or (error is not None and is_caller_error(error.__cause__))


def explain_error(error: Exception) -> str:
    """Return the text of an error, with the fix if credentials have expired."""
    if credentials_expired(error):
        return f"the credentials have expired: get new ones ({error})"
    return f"AWS: {error}"


def next_steps(message: str, stage: str) -> Iterator[str]:
    """Yield what to do after a deploy of a stage that failed with a message."""
    if NO_CAPACITY in message:
        yield f"AWS has no capacity for an instance type: {CAPACITY_RUNBOOK}"
    if FAILED_START in message:
        yield f"A model cannot load, or not within startup_timeout_minutes: {START_RUNBOOK}"
    yield f"For a bug report: tritonsm report {stage}"


@contextmanager
def raise_unfinished(progress: str) -> Iterator[None]:
    """Raise `Unfinished` if the `with` block is interrupted or AWS does not answer.

    `progress` is a sentence about the state of the delivery for the message.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise Unfinished(f"interrupted, and {progress}") from None
    except (BotoCoreError, ClientError, EndpointError) as error:
        if not isinstance(error, BotoCoreError) and not credentials_expired(error):
            raise
        raise Unfinished(f"{progress}: {explain_error(error)}") from error


def still_updating_message(stacks: Iterable[str]) -> str:
    """Return a sentence for errors after which CloudFormation may still be updating stacks."""
    return f"CloudFormation may still be updating {', '.join(stacks)}"
