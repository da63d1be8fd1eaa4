"""FilterLogEvents of ministack: requests that it would misunderstand are rejected.

ministack answers with at most 10,000 of the oldest events and no token, its patterns ignore case,
and it knows no regular expressions. Source of the words: localstack/localstack,
tests/aws/services/logs (test_logs_filter_events.snapshot.json, test_logs_events.snapshot.json).
These are private names of the pinned version.
"""

from typing import Any

MOST_EVENTS = 10_000
UNSUPPORTED = ("logStreamNamePrefix", "startFromHead")


def install(logs: Any) -> None:
    """Have ministack's module `cloudwatch_logs` reject them."""
    filter_log_events = logs._filter_log_events

    def checked(request: dict[str, Any]) -> Any:
        if logs._resolve_log_group_name(request) not in logs._log_groups:
            message = "The specified log group does not exist."
            return logs.error_response_json("ResourceNotFoundException", message, 400)
        if problem := _problem(request):
            return logs.error_response_json("InvalidParameterException", problem, 400)
        return filter_log_events(request)

    logs._filter_log_events = checked


def _problem(request: dict[str, Any]) -> str | None:
    """Return why a request is rejected. No page has a token, so that every token is another's."""
    if (limit := request.get("limit", MOST_EVENTS)) > MOST_EVENTS:
        return (
            f"1 validation error detected: Value '{limit}' at 'limit' failed to satisfy "
            f"constraint: Member must have value less than or equal to {MOST_EVENTS}"
        )
    if "nextToken" in request:
        return "The specified nextToken is invalid."
    if request.get("filterPattern", "").strip().startswith("%"):
        return "The local SageMaker does not support regular expressions in a filterPattern."
    members = [member for member in UNSUPPORTED if member in request]
    return f"The local SageMaker does not support {', '.join(members)}." if members else None
