"""The reasons for which AWS did not answer a call."""

import re

from botocore.exceptions import BotoCoreError, ClientError

DENIED = (
    *("AccessDenied", "AccessDeniedException", "AuthorizationError"),
    *("AuthorizationErrorException", "UnauthorizedOperation", "403"),
)
"""Error codes for a caller without the permission."""

_ACTION = re.compile(r"not authorized to perform: ([\w-]+:\w+)")


def why(error: ClientError | BotoCoreError) -> str:
    """Return the reason for which AWS did not answer."""
    if not isinstance(error, ClientError):
        return f"AWS: {error}"
    answer = error.response["Error"]
    if answer.get("Code") in DENIED:
        match = _ACTION.search(answer.get("Message", ""))
        return f"not allowed to ask ({match[1] if match else error.operation_name})"
    message = answer.get("Message") or answer.get("Code")
    return f"AWS answers {error.operation_name} with: {message}"
