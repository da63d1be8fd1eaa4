"""Why AWS did not answer."""

import re

from botocore.exceptions import BotoCoreError, ClientError

DENIED = (
    *("AccessDenied", "AccessDeniedException", "AuthorizationError"),
    *("AuthorizationErrorException", "UnauthorizedOperation", "403"),
)
"""Codes of services for a caller without the permission."""

_ACTION = re.compile(r"not authorized to perform: ([\w-]+:\w+)")


def why(error: ClientError | BotoCoreError) -> str:
    """Return why AWS did not answer."""
    if not isinstance(error, ClientError):
        return f"AWS: {error}"
    answer = error.response["Error"]
    if answer.get("Code") in DENIED:
        named = _ACTION.search(answer.get("Message", ""))
        return f"not allowed to ask ({named[1] if named else error.operation_name})"
    message = answer.get("Message") or answer.get("Code")
    return f"AWS answers {error.operation_name} with: {message}"
