"""Why AWS did not answer, in a row's words."""

import re

from botocore.exceptions import BotoCoreError, ClientError

DENIED = (
    *("AccessDenied", "AccessDeniedException", "AuthorizationError"),
    *("AuthorizationErrorException", "UnauthorizedOperation", "403"),
)
"""How services answer a caller who may not ask."""

_ACTION = re.compile(r"not authorized to perform: ([\w-]+:\w+)")


def why(error: ClientError | BotoCoreError) -> str:
    """Say why AWS did not answer."""
    if not isinstance(error, ClientError):
        return f"AWS: {error}"
    told = error.response["Error"]
    if told.get("Code") in DENIED:
        named = _ACTION.search(told.get("Message", ""))
        return f"not allowed to ask ({named[1] if named else error.operation_name})"
    said = told.get("Message") or told.get("Code")
    return f"AWS answers {error.operation_name} with: {said}"
