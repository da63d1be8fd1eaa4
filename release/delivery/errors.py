"""How a delivery can fail, with its exit code. Every message says what to do."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import ClassVar

from botocore.exceptions import BotoCoreError, ClientError, UnauthorizedSSOTokenError

from endpoint_client import EndpointError

EXPIRED = ("ExpiredToken", "ExpiredTokenException", "RequestExpired")
"""AWS's codes: STS API reference, common errors ("ExpiredTokenException", "RequestExpired"); S3
API reference, error responses ("ExpiredToken"), which other services answer, too (aws/aws-cdk
#19359)."""
UNANSWERED = (
    *("AccessDenied", "AccessDeniedException", "UnrecognizedClientException"),
    *("Throttling", "ThrottlingException", "TooManyRequestsException"),
)
"""AWS's codes for a caller without the permission, or with too many requests (common errors of the
services' API references; botocore's retryable codes)."""


class DeliveryError(Exception):
    """A delivery that did not end well: its exit code, and how its message begins and ends."""

    exit_code: ClassVar[int]
    label: ClassVar[str]
    advice: ClassVar[str] = ""
    """What to do next; `{stage}` is the stage's name."""


class NotDelivered(DeliveryError):
    """Nothing was changed, or CloudFormation rolled it back: what served before still serves."""

    exit_code, label = 1, "not delivered"


class DeliveredWrong(DeliveryError):
    """It is deployed, and an endpoint or a model is not what the commit says."""

    exit_code, label = 2, "deployed, and wrong"
    advice = "\n  Roll back: make rollback STAGE={stage}"


class EndpointGone(DeliveredWrong):
    """An endpoint was deleted or has failed, and no deploy of any commit repairs it.

    The message has the commands that do.
    """

    advice = ""


class RollbackFailed(DeliveredWrong):
    """CloudFormation could not roll a stack back, and does not update it until that is continued.

    The message has the commands.
    """

    advice = ""


class Unfinished(DeliveryError):
    """It was begun, and goes on at AWS, or AWS did not answer: the next delivery continues it."""

    exit_code, label = 3, "unfinished"
    advice = (
        "\n  AWS finishes what was begun. Builds may still run: wait until CodeBuild has none in "
        "progress, then run the same command again. It waits for stacks and endpoints, and "
        "continues"
    )


class ChangedByHand(DeliveryError):
    """The catalog has another version than the commit, and a deploy does not change it.

    The message has the command that does.
    """

    exit_code, label = 4, "changed by hand"


def expired(error: BaseException | None) -> bool:
    """Return whether an error, or one that it was raised from, is that credentials have expired."""
    if isinstance(error, ClientError):
        return error.response["Error"]["Code"] in EXPIRED
    if isinstance(error, UnauthorizedSSOTokenError):
        return True
    return error is not None and expired(error.__cause__)


def unanswered(error: BaseException | None) -> bool:
    """Return whether an error, or one that it was raised from, tells nothing of the stage."""
    if isinstance(error, ClientError) and error.response["Error"]["Code"] in UNANSWERED:
        return True
    return expired(error) or (error is not None and unanswered(error.__cause__))


def explained(error: Exception) -> str:
    """Return an error's text, and of credentials that have expired what that means."""
    if expired(error):
        return f"the credentials have expired: get new ones ({error})"
    return f"AWS: {error}"


@contextmanager
def unfinished(progress: str) -> Iterator[None]:
    """Raise `Unfinished` with `progress` where AWS does not answer any more, or on an interrupt."""
    try:
        yield
    except KeyboardInterrupt:
        raise Unfinished(f"interrupted, and {progress}") from None
    except (BotoCoreError, ClientError, EndpointError) as error:
        if not isinstance(error, BotoCoreError) and not expired(error):
            raise
        raise Unfinished(f"{progress}: {explained(error)}") from error


def may_be_updating(stacks: Iterable[str]) -> str:
    """Return what AWS may be doing after a deploy of these stacks was begun."""
    return f"CloudFormation may still be updating {', '.join(stacks)}"
