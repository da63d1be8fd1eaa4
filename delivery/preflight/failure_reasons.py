"""Readable reasons why an AWS call failed."""

import re

from botocore.exceptions import BotoCoreError, ClientError

DENIED = (
    *("AccessDenied", "AccessDeniedException", "AuthorizationError"),
    *("AuthorizationErrorException", "UnauthorizedOperation", "403"),
)
"""Error codes for a caller without the permission."""

_ACTION = re.compile(r"not authorized to perform: ([\w-]+:\w+)")


def failure_reason(error: ClientError | BotoCoreError) -> str:
    """Return why an AWS call failed, with the missing permission if there is one."""
    if not isinstance(error, ClientError):
        return f"AWS: {error}"
    details = error.response["Error"]
    if details.get("Code") in DENIED:
        match = _ACTION.search(details.get("Message", ""))
        return f"no permission ({match[1] if match else error.operation_name})"
    message = details.get("Message") or details.get("Code")
    return f"AWS: {error.operation_name} failed: {message}"
