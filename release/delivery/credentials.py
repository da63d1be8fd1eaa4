"""Errors that say nothing of a stage: credentials that end before a delivery does, and the like."""

from botocore.exceptions import BotoCoreError, ClientError, UnauthorizedSSOTokenError

EXPIRED = ("ExpiredToken", "ExpiredTokenException", "RequestExpired")
"""AWS's codes: STS API reference, common errors ("ExpiredTokenException", "RequestExpired"); S3
API reference, error responses ("ExpiredToken"), which other services answer, too (aws/aws-cdk
#19359)."""
UNANSWERED = (
    *("AccessDenied", "AccessDeniedException", "UnrecognizedClientException"),
    *("Throttling", "ThrottlingException", "TooManyRequestsException"),
)
"""AWS's codes for a caller who may not ask, or asks too often (common errors of the services' API
references; botocore's retryable codes)."""


def expired(error: BaseException | None) -> bool:
    """Return whether an error, or one that it was raised from, is that credentials have expired."""
    if isinstance(error, ClientError):
        return error.response["Error"]["Code"] in EXPIRED
    if isinstance(error, UnauthorizedSSOTokenError):
        return True
    return error is not None and expired(error.__cause__)


def unanswered(error: BaseException | None) -> bool:
    """Return whether an error, or one that it was raised from, says nothing of what was asked."""
    if isinstance(error, ClientError) and error.response["Error"]["Code"] in UNANSWERED:
        return True
    return expired(error) or (error is not None and unanswered(error.__cause__))


def explained(error: BotoCoreError | ClientError | Exception) -> str:
    """Return an error's text, and of credentials that have expired what that means."""
    if expired(error):
        return f"the credentials have expired: get new ones ({error})"
    return f"AWS: {error}"
