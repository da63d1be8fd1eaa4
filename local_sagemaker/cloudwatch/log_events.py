"""FilterLogEvents as AWS documents it, on the events that ministack keeps.

ministack answers with one page of the oldest events, without a token for the rest, and matches
words whatever their case and phrases word by word. These are private names of the pinned version:
its store of events, how it answers, and what it does with patterns of JSON and of columns.

Source of every rule, unless it says otherwise: CloudWatch Logs' API reference, FilterLogEvents.
"""

import math
import re
import uuid
from collections.abc import Callable
from typing import Any

MOST_EVENTS = 10_000
MOST_BYTES = 1_048_576
"""Of a page: "up to 1 MB of log events or up to 10,000 log events"."""
NEWEST_FIRST_SINCE = 1_704_067_200_000
"""2024-01-01, in milliseconds."""

Record = dict[str, Any]
Matches = Callable[[str], bool]

_TERM = re.compile(r'(?P<kind>[?-]?)(?:"(?P<phrase>(?:[^"\\]|\\.)*)"|(?P<word>[^\s"]+))')
_REGULAR_EXPRESSION = re.compile(r"%([\w:#=@/;,^$?\[\]{}|\\*+.-]+)%", re.ASCII)
"""What a pattern of a regular expression may have: no parentheses, no spaces. Source: CloudWatch
Logs' user guide, FilterAndPatternSyntax, "Supported regular expressions (regex) syntax"."""
_STRUCTURED = ("{", "[")
"""How patterns of JSON and of columns begin."""


def install(logs: Any) -> None:
    """Have ministack's module `cloudwatch_logs` answer by this one."""
    logs._filter_log_events = LogEvents(logs).filter


class InvalidParameter(Exception):
    """What is refused, in words that are ours."""


class LogEvents:
    """The events of ministack's module `logs`."""

    def __init__(self, logs: Any) -> None:
        self._logs = logs

    def filter(self, request: Record) -> Any:
        """FilterLogEvents."""
        group = self._logs._resolve_log_group_name(request)
        if group not in self._logs._log_groups:
            message = "The specified log group does not exist."
            return self._logs.error_response_json("ResourceNotFoundException", message, 400)
        try:
            return self._logs.json_response(self._page(group, request))
        except InvalidParameter as error:
            return self._logs.error_response_json("InvalidParameterException", str(error), 400)

    def _page(self, group: str, request: Record) -> Record:
        """Return a page, with a token that says which of its events was the last."""
        if (limit := request.get("limit", MOST_EVENTS)) > MOST_EVENTS:
            raise InvalidParameter(
                f"1 validation error detected: Value '{limit}' at 'limit' failed to satisfy "
                f"constraint: Member must have value less than or equal to {MOST_EVENTS}"
            )
        newest_first, last = _position(request)
        events = self._matching(group, request)
        if newest_first:
            events.reverse()
        begin = next((n + 1 for n, it in enumerate(events) if it["eventId"] == last), 0)
        page: list[Record] = []
        size = 0
        for event in events[begin:]:
            size += len(event["message"].encode())
            if page and (len(page) == limit or size > MOST_BYTES):
                token = f"{'b' if newest_first else 'f'}/{page[-1]['eventId']}"
                return {"events": page, "searchedLogStreams": [], "nextToken": token}
            page.append(event)
        return {"events": page, "searchedLogStreams": []}

    def _matching(self, group: str, request: Record) -> list[Record]:
        """Return what is in the streams and times that are asked for, the oldest first."""
        names, prefix = request.get("logStreamNames"), request.get("logStreamNamePrefix", "")
        if names and prefix:
            raise InvalidParameter("logStreamNames and logStreamNamePrefix exclude each other.")
        first, last = request.get("startTime", 0), request.get("endTime", math.inf)
        matches = matcher(request.get("filterPattern", ""), self._logs._compile_filter_pattern)
        with self._logs._log_events_lock:
            found = [
                {**_whole(event), "logStreamName": name}
                for name, stream in self._logs._log_groups[group]["streams"].items()
                if (name in names if names else name.startswith(prefix))
                for event in stream["events"]
                if first <= event["timestamp"] <= last and matches(event["message"])
            ]
        return sorted(found, key=lambda it: (it["timestamp"], it["ingestionTime"]))


def _whole(event: Record) -> Record:
    """Return an event with what those of ministack's own functions lack, which keep it."""
    event.setdefault("eventId", uuid.uuid4().hex)
    event.setdefault("ingestionTime", event["timestamp"])
    return event


def _position(request: Record) -> tuple[bool, str | None]:
    """Return whether the newest come first, and the event that the page before ended with."""
    if token := request.get("nextToken"):
        found = re.fullmatch("([fb])/(.+)", token)
        if found is None:
            raise InvalidParameter("The specified nextToken is invalid.")
        return found[1] == "b", found[2]
    newest_first = request.get("startFromHead") is False
    if newest_first and request.get("startTime", 0) < NEWEST_FIRST_SINCE:
        raise InvalidParameter(
            "startFromHead set to false is supported only when startTime is on or after Jan 1, 2024"
        )
    return newest_first, None


def matcher(pattern: str, structured: Callable[[str], Matches]) -> Matches:
    """Return what says whether a message matches a pattern; `structured` reads those of JSON.

    Of words and phrases, all must be in the message; of those that begin with "?" one is enough,
    and none that begins with "-" may be. "Filter patterns are case sensitive." Source: CloudWatch
    Logs' user guide, FilterAndPatternSyntax; of quotes in phrases, quoteTerm in aws-cdk,
    aws-logs/lib/pattern.ts. Raises `InvalidParameter`.
    """
    if pattern.strip().startswith(_STRUCTURED):
        return structured(pattern)
    if pattern.strip().startswith("%"):
        return _regular_expression(pattern)
    terms: dict[str, list[str]] = {"": [], "?": [], "-": []}
    for term in _TERM.finditer(pattern):
        phrase = term["word"] or re.sub(r"\\(.)", r"\1", term["phrase"] or "")
        terms[term["kind"]].append(phrase)

    def matches(message: str) -> bool:
        return (
            all(it in message for it in terms[""])
            and (not terms["?"] or any(it in message for it in terms["?"]))
            and not any(it in message for it in terms["-"])
        )

    return matches


def _regular_expression(pattern: str) -> Matches:
    written = _REGULAR_EXPRESSION.fullmatch(pattern.strip())
    if written is None:
        raise InvalidParameter(f"Invalid filter pattern: {pattern}")
    try:
        expression = re.compile(written[1])
    except re.error as error:
        raise InvalidParameter(f"Invalid filter pattern: {error}") from None
    return lambda message: expression.search(message) is not None
