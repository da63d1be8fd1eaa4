"""FilterLogEvents with regular expressions, and errors for requests that are not supported.

ministack returns at most the 10,000 oldest events, without a token; its patterns ignore case and
cannot be regular expressions. Source of the messages: localstack/localstack,
tests/aws/services/logs (test_logs_filter_events.snapshot.json, test_logs_events.snapshot.json).
This module patches private names of the pinned version.
"""

import re
from collections.abc import Callable
from typing import Any

MAX_EVENTS = 10_000
UNSUPPORTED_MEMBERS = ("logStreamNamePrefix", "startFromHead")
_REGULAR_EXPRESSION = re.compile(r"%([\w:#=@/;,^$?\[\]{}|\\*+.-]+)%", re.ASCII)
"""Filter pattern with a regular expression, which cannot contain parentheses or spaces. Source:
CloudWatch Logs user guide, FilterAndPatternSyntax, "Supported regular expressions (regex)
syntax"."""


def patch(logs: Any) -> None:
    """Patch ministack's module `cloudwatch_logs`."""
    filter_log_events, compile_pattern = logs._filter_log_events, logs._compile_filter_pattern

    def compile_with_regular_expressions(pattern: str) -> Callable[[str], bool]:
        expression = _parse_regular_expression(pattern)
        if expression is None:
            matches: Callable[[str], bool] = compile_pattern(pattern)
            return matches
        return lambda message: expression.search(message) is not None

    def filter_valid_request(request: dict[str, Any]) -> Any:
        if logs._resolve_log_group_name(request) not in logs._log_groups:
            message = "The specified log group does not exist."
            return logs.error_response_json("ResourceNotFoundException", message, 400)
        if problem := _problem(request):
            return logs.error_response_json("InvalidParameterException", problem, 400)
        return filter_log_events(request)

    logs._filter_log_events = filter_valid_request
    logs._compile_filter_pattern = compile_with_regular_expressions


def _parse_regular_expression(pattern: str) -> re.Pattern[str] | None:
    """Return the regular expression in a pattern, None for other patterns. Raise `ValueError`."""
    if not pattern.strip().startswith("%"):
        return None
    match = _REGULAR_EXPRESSION.fullmatch(pattern.strip())
    if match is None:
        raise ValueError(pattern)
    try:
        return re.compile(match[1])
    except re.error as error:
        raise ValueError(str(error)) from None


def _problem(request: dict[str, Any]) -> str | None:
    """Return the error message for an invalid request, or None.

    Any token is invalid, because a response has all events.
    """
    if (limit := request.get("limit", MAX_EVENTS)) > MAX_EVENTS:
        return (
            f"1 validation error detected: Value '{limit}' at 'limit' failed to satisfy "
            f"constraint: Member must have value less than or equal to {MAX_EVENTS}"
        )
    if "nextToken" in request:
        return "The specified nextToken is invalid."
    try:
        _parse_regular_expression(request.get("filterPattern", ""))
    except ValueError as error:
        return f"Invalid filter pattern: {error}"
    members = [member for member in UNSUPPORTED_MEMBERS if member in request]
    return f"The local SageMaker does not support {', '.join(members)}." if members else None
