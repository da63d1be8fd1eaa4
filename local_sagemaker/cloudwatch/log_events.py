"""FilterLogEvents, in place of ministack's.

ministack's returns one page without a token, ignores `logStreamNamePrefix` and case, splits quoted
phrases, and lets every event pass a JSON pattern. Sources: the API reference of FilterLogEvents;
for patterns the CloudWatch Logs user guide, FilterAndPatternSyntax; for messages
localstack/localstack, tests/aws/services/logs (test_logs_filter_events.snapshot.json,
test_logs_events.snapshot.json). This module uses private names of the pinned version.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

MAX_EVENTS = 10_000
"""Maximum, and default, of `limit`."""
_REGULAR_EXPRESSION = re.compile(r"%([\w:#=@/;,^$?\[\]{}|\\*+.-]+)%", re.ASCII)
"""Filter pattern with a regular expression, which cannot contain parentheses or spaces. Source:
the user guide, "Supported regular expressions (regex) syntax"."""
_TERM = re.compile(r'([-?]?)(?:"((?:[^"\\]|\\.)+)"|([^\s"]+))(?:\s+|$)')
"""A word or a quoted phrase; `-` excludes it, and one of several with `?` is enough."""


def patch(logs: Any) -> None:
    """Patch ministack's module `cloudwatch_logs`."""

    def filter_log_events(request: dict[str, Any]) -> Any:
        group = logs._log_groups.get(logs._resolve_log_group_name(request))
        if group is None:
            message = "The specified log group does not exist."
            return logs.error_response_json("ResourceNotFoundException", message, 400)
        try:
            with logs._log_events_lock:
                return logs.json_response(_page(group["streams"], request))
        except ValueError as error:
            return logs.error_response_json("InvalidParameterException", str(error), 400)

    logs._filter_log_events = filter_log_events


def _page(streams: Mapping[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """Return one page of events, the oldest first. Raise `ValueError` for an invalid request."""
    limit = request.get("limit", MAX_EVENTS)
    if not request.get("startFromHead", True):
        raise ValueError("The local SageMaker does not support startFromHead=false: leave it out.")
    start, end = request.get("startTime", 0), request.get("endTime", float("inf"))
    matches = _matcher(request.get("filterPattern", ""))
    events = sorted(
        (
            {**event, "logStreamName": name}
            for name in _stream_names(streams, request)
            for event in streams[name]["events"]
            if start <= event["timestamp"] <= end and matches(event["message"])
        ),
        key=lambda event: (event["timestamp"], event["ingestionTime"]),
    )
    first = 0
    if token := request.get("nextToken"):  # the id of the last event of the previous page
        ids = [event["eventId"] for event in events]
        if token not in ids:
            raise ValueError("The specified nextToken is invalid.")
        first = ids.index(token) + 1
    page = events[first : first + limit]
    more = {"nextToken": page[-1]["eventId"]} if first + limit < len(events) else {}
    return {"events": page, "searchedLogStreams": [], **more}


def _stream_names(streams: Mapping[str, Any], request: dict[str, Any]) -> list[str]:
    """Return the names of the streams to search. A name without a stream has no events."""
    names, prefix = request.get("logStreamNames"), request.get("logStreamNamePrefix", "")
    if names and prefix:
        # Source: the API reference; the message has none.
        raise ValueError("Specify logStreamNames or logStreamNamePrefix, not both.")
    return [name for name in names or streams if name in streams and name.startswith(prefix)]


def _matcher(pattern: str) -> Callable[[str], bool]:
    """Return a function that matches messages. Raise `ValueError` for an invalid pattern."""
    pattern = pattern.strip()
    if pattern.startswith(("{", "[")):
        raise ValueError("The local SageMaker supports no filter patterns for JSON or fields.")
    if pattern.startswith("%"):
        expression = _parse_regular_expression(pattern)
        return lambda message: expression.search(message) is not None
    terms = list(_TERM.finditer(pattern))
    if "".join(term[0] for term in terms) != pattern:
        raise ValueError(f"Invalid filter pattern: {pattern}")
    texts: dict[str, list[str]] = {"": [], "-": [], "?": []}
    for sign, phrase, word in (term.groups() for term in terms):
        texts[sign].append(re.sub(r"\\(.)", r"\1", phrase) if phrase else word)
    if texts["?"] and (texts[""] or texts["-"]):
        raise ValueError("The local SageMaker supports ?terms only without other terms.")
    return lambda message: (
        all(text in message for text in texts[""])
        and not any(text in message for text in texts["-"])
        and (not texts["?"] or any(text in message for text in texts["?"]))
    )


def _parse_regular_expression(pattern: str) -> re.Pattern[str]:
    """Return the regular expression in a pattern. Raise `ValueError`."""
    match = _REGULAR_EXPRESSION.fullmatch(pattern)
    if match is None:
        raise ValueError(f"Invalid filter pattern: {pattern}")
    try:
        return re.compile(match[1])
    except re.error as error:
        raise ValueError(f"Invalid filter pattern: {error}") from None
