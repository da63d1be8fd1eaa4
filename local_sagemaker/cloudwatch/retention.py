"""Retention of CloudWatch's data, shorter than AWS's because it is in memory.

AWS keeps the metrics of minutes for 15 days (API reference of GetMetricData), and logs for as long
as their group's retention says, for ever where it says nothing. These are private names of the
pinned ministack, which forgets nothing that is younger than two weeks.
"""

import asyncio
import time
from itertools import takewhile
from typing import Any

from local_sagemaker.cloudwatch.evaluator import condition_of

EVERY_SECONDS = 60
"""Of AWS's, between two looks at what is old."""

DAY_SECONDS = 86_400
"""Of AWS's, for which metrics are kept, or longer where an alarm looks farther back: that is a day
at most for alarms of less than an hour, seven days for others (API reference of PutMetricAlarm)."""

LEAST_SECONDS = 360
"""Of this machine, for which metrics are kept however fast its time is: who asks for the last five
minutes, as `tritonsm status` does, gets them."""

MOST_POINTS = 10_000
"""Of one metric, the latest, where a day has more."""

MOST_CHANGES = 1_000
"""Of alarms' states, the latest."""

MOST_EVENTS = 10_000
"""Of a log stream, the latest."""


class Retention:
    """Deletes old data of ministack's modules `cloudwatch` and `cloudwatch_logs`.

    At a `speed` other than 1, a day lasts so much less.
    """

    def __init__(self, cloudwatch: Any, logs: Any, *, speed: float) -> None:
        self._cloudwatch, self._logs, self._speed = cloudwatch, logs, speed
        cloudwatch._evict_old_metrics = lambda: None  # at every request, it copied all data

    async def run(self) -> None:
        """Forget for ever."""
        while True:
            await asyncio.sleep(EVERY_SECONDS / self._speed)
            self.forget(time.time())

    def forget(self, now: float) -> None:
        """Forget what is too old or too much at a time."""
        self._forget_points(now)
        del self._cloudwatch._history_entries()[:-MOST_CHANGES]
        for group in list(self._logs._log_groups.values()):
            for stream in list(group["streams"].values()):
                self._forget_events(stream)

    def _forget_points(self, now: float) -> None:
        """Forget old data; a metric that has none any more is not listed either."""
        oldest = now - max(self._seconds() / self._speed, LEAST_SECONDS)
        for key, points in list(self._cloudwatch._metrics.items()):
            old = sum(1 for _ in takewhile(lambda point: point["Timestamp"] < oldest, points))
            del points[: max(old, len(points) - MOST_POINTS)]
            if not points:
                del self._cloudwatch._metrics[key]

    def _seconds(self) -> float:
        """Return AWS's seconds for which metrics are kept."""
        alarms = [alarm for alarm in self._cloudwatch._alarms.values() if alarm.get("MetricName")]
        looked_at = [float(alarm["Period"] * condition_of(alarm).range) for alarm in alarms]
        return max([DAY_SECONDS, *looked_at])

    def _forget_events(self, stream: dict[str, Any]) -> None:
        """Forget the oldest events of a stream, and the records by which they are found."""
        with self._logs._log_events_lock:
            for event in stream["events"][:-MOST_EVENTS]:
                self._logs._log_records.pop(event.get("eventId"), None)
            if len(stream["events"]) > MOST_EVENTS:
                stream["events"] = stream["events"][-MOST_EVENTS:]  # others may read the old list
