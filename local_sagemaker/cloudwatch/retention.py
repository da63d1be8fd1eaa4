"""Deletion of old CloudWatch data, which ministack stores in memory.

AWS stores one-minute metrics for 15 days (API reference of GetMetricData), and logs for the
retention period of their group, by default forever. ministack stores all data for two weeks. This
module uses private names of the pinned version.
"""

import asyncio
import time
from itertools import takewhile
from typing import Any

from local_sagemaker.cloudwatch.evaluator import condition_of

INTERVAL_SECONDS = 60
"""Interval between two deletions, in AWS's seconds."""

DAY_SECONDS = 86_400
"""Retention of metrics in AWS's seconds, unless an alarm has a longer range: at most a day for
alarms with periods below an hour, seven days for others (API reference of PutMetricAlarm)."""

MIN_RETENTION_SECONDS = 360
"""Minimum retention of metrics in real seconds: `tritonsm status` reads the last five minutes."""

MAX_POINTS = 10_000
"""Maximum number of data points of a metric."""

MAX_CHANGES = 1_000
"""Maximum number of items in the alarm history."""

MAX_EVENTS = 10_000
"""Maximum number of events in a log stream."""


class Retention:
    """The deletion of old data of ministack's modules `cloudwatch` and `cloudwatch_logs`.

    Retention periods are divided by `speed`.
    """

    def __init__(self, cloudwatch: Any, logs: Any, *, speed: float) -> None:
        self._cloudwatch, self._logs, self._speed = cloudwatch, logs, speed
        cloudwatch._evict_old_metrics = lambda: (
            None
        )  # ministack's function copies all data at every request

    async def run(self) -> None:
        """Delete old data until the task is cancelled."""
        while True:
            await asyncio.sleep(INTERVAL_SECONDS / self._speed)
            self.delete_old_data(time.time())

    def delete_old_data(self, now: float) -> None:
        """Delete the data that is too old at the time `now`, or exceeds a maximum."""
        self._delete_old_points(now)
        del self._cloudwatch._history_entries()[:-MAX_CHANGES]
        for group in list(self._logs._log_groups.values()):
            for stream in list(group["streams"].values()):
                self._delete_old_events(stream)

    def _delete_old_points(self, now: float) -> None:
        """Delete old data points, and metrics without data points."""
        oldest_time = now - max(self._retention_seconds() / self._speed, MIN_RETENTION_SECONDS)
        for key, points in list(self._cloudwatch._metrics.items()):
            old_count = sum(
                1 for _ in takewhile(lambda point: point["Timestamp"] < oldest_time, points)
            )
            del points[: max(old_count, len(points) - MAX_POINTS)]
            if not points:
                del self._cloudwatch._metrics[key]

    def _retention_seconds(self) -> float:
        """Return the retention of metrics in AWS's seconds."""
        alarms = [alarm for alarm in self._cloudwatch._alarms.values() if alarm.get("MetricName")]
        ranges = [float(alarm["Period"] * condition_of(alarm).range) for alarm in alarms]
        return max([DAY_SECONDS, *ranges])

    def _delete_old_events(self, stream: dict[str, Any]) -> None:
        """Delete the oldest events of a stream, also from the index by event id."""
        with self._logs._log_events_lock:
            for event in stream["events"][:-MAX_EVENTS]:
                self._logs._log_records.pop(event.get("eventId"), None)
            if len(stream["events"]) > MAX_EVENTS:
                # A new list, because other threads may iterate over the old one.
                stream["events"] = stream["events"][-MAX_EVENTS:]
