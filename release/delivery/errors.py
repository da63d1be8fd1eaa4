"""The errors of a delivery, with exit codes. Every message includes the next step."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import ClassVar

from botocore.exceptions import BotoCoreError, ClientError, UnauthorizedSSOTokenError

from endpoint_client import EndpointError

EXPIRED = ("ExpiredToken", "ExpiredTokenException", "RequestExpired")
"""Error codes for expired credentials: STS API reference, common errors ("ExpiredTokenException",
"RequestExpired"); S3 API reference, error responses ("ExpiredToken", which other services return as
well: aws/aws-cdk#19359)."""
CALLER_ERRORS = (
    *("AccessDenied", "AccessDeniedException", "UnrecognizedClientException"),
    *("Throttling", "ThrottlingException", "TooManyRequestsException"),
)
"""Error codes for missing permissions and for throttling (common errors of the services' API
references; botocore's retryable codes)."""


class DeliveryError(Exception):
    """A failed delivery: its exit code, and the beginning and end of its message."""

    exit_code: ClassVar[int]
    label: ClassVar[str]
    advice: ClassVar[str] = ""
    """The next step, at the end of the message; `{stage}` is the stage's name."""


class NotDelivered(DeliveryError):
    """Nothing was changed, or CloudFormation rolled the change back: the old version serves."""

    exit_code, label = 1, "not delivered"


class DeliveredWrong(DeliveryError):
    """The commit is deployed, and an endpoint or a model does not work as it should."""

    exit_code, label = 2, "deployed, and wrong"
    advice = "\n  Roll back: make rollback STAGE={stage}"


class EndpointGone(DeliveredWrong):
    """An endpoint was deleted or has failed, and must be created again with the given commands."""

    advice = ""


class RollbackFailed(DeliveredWrong):
    """CloudFormation could not roll a stack back, and does not update it until that is repaired."""

    advice = ""


class Unfinished(DeliveryError):
    """AWS is still working, or did not answer: the next delivery continues."""

    exit_code, label = 3, "unfinished"
    advice = (
        "\n  AWS finishes the operations in progress. Wait until no build runs in CodeBuild, then "
        "run the same command again: it waits for stacks and endpoints, and continues"
    )


class ChangedByHand(DeliveryError):
    """The catalog and the commit have different versions, and a deploy would not change that.

    The message has the command that resolves it.
    """

    exit_code, label = 4, "changed by hand"


def credentials_expired(error: BaseException | None) -> bool:
    """Return whether an error, or its cause, reports expired credentials."""
    if isinstance(error, ClientError):
        return error.response["Error"]["Code"] in EXPIRED
    if isinstance(error, UnauthorizedSSOTokenError):
        return True
    return error is not None and credentials_expired(error.__cause__)


def is_caller_error(error: BaseException | None) -> bool:
    """Return whether an error, or its cause, concerns the caller and not the stage."""
    if isinstance(error, ClientError) and error.response["Error"]["Code"] in CALLER_ERRORS:
        return True
    return credentials_expired(error) or (error is not None and is_caller_error(error.__cause__))


def explain_error(error: Exception) -> str:
    """Return an error's text; for expired credentials, with the fix."""
    if credentials_expired(error):
        return f"the credentials have expired: get new ones ({error})"
    return f"AWS: {error}"


@contextmanager
def unfinished(progress: str) -> Iterator[None]:
    """Raise `Unfinished` with `progress` on an interrupt or if AWS does not answer."""
    try:
        yield
    except KeyboardInterrupt:
        raise Unfinished(f"interrupted, and {progress}") from None
    except (BotoCoreError, ClientError, EndpointError) as error:
        if not isinstance(error, BotoCoreError) and not credentials_expired(error):
            raise
        raise Unfinished(f"{progress}: {explain_error(error)}") from error


def may_be_updating(stacks: Iterable[str]) -> str:
    """Return the sentence that CloudFormation may still be updating stacks."""
    return f"CloudFormation may still be updating {', '.join(stacks)}"
