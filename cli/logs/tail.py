"""The end of a log group, and what comes after it."""

import json
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

EARLIEST = datetime(2024, 1, 1, tzinfo=UTC)
"""The latest come first only "when startTime is on or after Jan 1, 2024" (API reference,
FilterLogEvents)."""
LATE_MS = 10_000
"""How much later than a younger event of another stream an older one may come, and be seen yet. Our
choice: no page says how late that can be."""


class Event(NamedTuple):
    """A line of a log. Times are milliseconds; `stream` is production-variant-name/instance-id."""

    time: int
    stream: str
    message: str


class Tail:
    """A group; `pattern` is CloudWatch's filter pattern. `logs` is boto3's client.

    Methods raise `ClientError` and `BotoCoreError`.
    """

    def __init__(
        self, logs: Any, group: str, *, pattern: str, clock: Callable[[], float] = time.time
    ) -> None:
        self._pages = logs.get_paginator("filter_log_events")
        self._asked = {"logGroupName": group, "filterPattern": pattern}
        self._newest = int(clock() * 1000)
        self._since = 0
        self._seen: dict[str, int] = {}

    def last(self, lines: int, since: datetime) -> list[Event]:
        """Return the last lines that are not older than a time, the oldest first.

        So many more are asked for that nothing of before is new to `later`.
        """
        found: list[dict[str, Any]] = []
        start = self._since = int(max(since, EARLIEST).timestamp() * 1000)
        for page in self._pages.paginate(**self._asked, startTime=start, startFromHead=False):
            found += page["events"]
            enough = len(found) >= max(lines, 1)
            if enough and found[0]["timestamp"] - found[-1]["timestamp"] > LATE_MS:
                break
        found.reverse()
        self._see(found)
        return [_event(it) for it in found[max(0, len(found) - lines) :]]

    def later(self) -> list[Event]:
        """Return what has come since, also what is a little older than what was returned before."""
        start = max(self._newest - LATE_MS, self._since)
        pages = self._pages.paginate(**self._asked, startTime=start)
        found = [it for page in pages for it in page["events"] if it["eventId"] not in self._seen]
        self._see(found)
        return [_event(it) for it in found]

    def _see(self, events: Iterable[dict[str, Any]]) -> None:
        self._seen |= {it["eventId"]: it["timestamp"] for it in events}
        self._newest = max(self._seen.values(), default=self._newest)
        oldest = self._newest - LATE_MS
        self._seen = {event: time for event, time in self._seen.items() if time >= oldest}


def _event(found: dict[str, Any]) -> Event:
    return Event(found["timestamp"], found["logStreamName"], found["message"].rstrip("\r\n"))


def pattern(text: str) -> str:
    """Return the filter pattern of a text as it is shown; of no text, the one of every event.

    Newer releases of Triton write messages as JSON, with escapes that are not shown.
    """
    escaped = json.dumps(text, ensure_ascii=False)[1:-1]
    if escaped == text:
        return _quoted(text) if text else ""
    return f"?{_quoted(text)} ?{_quoted(escaped)}"


def _quoted(text: str) -> str:
    """Source: aws-cdk, aws-logs/lib/pattern.ts, quoteTerm."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
