"""Which errors of AWS pass by themselves."""

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as NotConnected

NO_QUOTA = "more than 0 builds in queue"
"""In CodeBuild's message to accounts that may run no such build at all
(rebuy-de/aws-nuke#1209, aws-ia/terraform-aws-control_tower_account_factory#179)."""


def is_transient(error: BotoCoreError | ClientError) -> bool:
    """Return whether the same call may succeed later, as where CodeBuild's queue is full."""
    if not isinstance(error, ClientError):
        return isinstance(error, HTTPClientError | NotConnected)
    code, message = error.response["Error"]["Code"], error.response["Error"].get("Message", "")
    if code == "AccountLimitExceededException":
        return NO_QUOTA not in message
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return "Throttl" in code or status >= 500
