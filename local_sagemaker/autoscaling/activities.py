"""Scaling activities, as DescribeScalingActivities returns them.

Source of the messages: the API reference of DescribeScalingActivities, the user guide's "Scaling
activities", and for variants SageMaker's developer guide, endpoint-scaling-query-history.
"""

import time
import uuid
from collections import deque
from collections.abc import Callable
from typing import Any

from local_sagemaker.autoscaling.targets import Record, TargetKey
from local_sagemaker.dashboard_events import DashboardEvent, EventKind, OnEvent, ignore_event
from local_sagemaker.errors import ApiError

_EVENT_KINDS = {
    "InProgress": EventKind.SCALING,
    "Successful": EventKind.SCALING_ENDED,
    "Unfulfilled": EventKind.SCALING_FAILED,
    "Failed": EventKind.SCALING_FAILED,
}

MAX_ACTIVITIES = 1000
"""Number of stored activities; AWS stores them for six weeks."""


class Activities:
    """Scaling activities, the latest last. `report` is called at each status change of an activity.

    The caller must hold a lock while it adds or completes activities.
    """

    def __init__(
        self, clock: Callable[[], float] = time.time, report: OnEvent = ignore_event
    ) -> None:
        self._clock, self._report = clock, report
        self._activities: deque[Record] = deque(maxlen=MAX_ACTIVITIES)

    def add_accepted(self, key: TargetKey, capacity: int, cause: str) -> Record:
        """Add the activity of a capacity change that SageMaker has accepted."""
        return self._add(
            key,
            f"Setting desired {key.unit} count to {capacity}.",
            cause,
            "InProgress",
            StatusMessage=f"Successfully set desired {key.unit} count to {capacity}. Waiting for "
            "change to be fulfilled by sagemaker.",
        )

    def complete(self, activity: Record, capacity: int, failure: str | None) -> None:
        """Complete an activity, with the reason if the capacity was not reached.

        The message of a failure has no source.
        """
        unit = TargetKey.from_request(activity).unit
        message = (
            f"Successfully set desired {unit} count to {capacity}. Change successfully fulfilled "
            "by sagemaker."
            if failure is None
            else f"Failed to reach desired {unit} count {capacity}: {failure}"
        )
        status = "Successful" if failure is None else "Unfulfilled"
        activity.update(StatusCode=status, StatusMessage=message, EndTime=self._clock())
        self._report(_dashboard_event(activity))

    def add_rejected(self, key: TargetKey, capacity: int, cause: str, error: ApiError) -> None:
        """Add the activity of a capacity change that SageMaker has rejected.

        Consecutive identical failures are added once, to keep the list readable; AWS was observed
        to add one every ten seconds (aws-samples/sample-kokoro-tts-for-ai-agents,
        tts_bench/ttotal.py).
        """
        message = (
            f"Failed to set desired {key.unit} count to {capacity}. Reason: {error.message} "
            f"(Service: AmazonSageMaker; Status Code: {error.status}; Error Code: {error.code}; "
            "Request ID: local; Proxy: null)"
        )
        description = f"Setting desired {key.unit} count to {capacity}."
        self._add(key, description, cause, "Failed", StatusMessage=message).setdefault(
            "EndTime", self._clock()
        )

    def add_scheduled(
        self, key: TargetKey, name: str, minimum: int, maximum: int, failure: str | None
    ) -> None:
        """Add the activity of a scheduled action, with the reason if it failed."""
        limits = f"min capacity to {minimum} and max capacity to {maximum}"
        cause = f"scheduled action name {name} was triggered"
        status = "Failed" if failure else "Successful"
        message = f"Failed to set {limits}: {failure}" if failure else f"Successfully set {limits}"
        self._add(key, f"Setting {limits}", cause, status, StatusMessage=message)

    def add_not_scaled(self, key: TargetKey, cause: str, reason: Record) -> None:
        """Add a not scaled activity, which the page does not show: an idle target has one too.

        Source of the members: the user guide, "Include not scaled activities".
        """
        description = "Attempting to scale due to alarm triggered"
        self._add(key, description, cause, "Failed", NotScaledReasons=[reason])

    def all(self, *, not_scaled: bool) -> list[Record]:
        """Return all activities, the latest last, with or without not scaled activities."""
        return [
            dict(activity)
            for activity in list(self._activities)
            if not_scaled or "NotScaledReasons" not in activity
        ]

    def _add(
        self, key: TargetKey, description: str, cause: str, status: str, **members: Any
    ) -> Record:
        record = {
            **key.members,
            "Description": description,
            "Cause": cause,
            "StatusCode": status,
            **members,
        }
        last_record = next(
            (
                record
                for record in reversed(self._activities)
                if TargetKey.from_request(record) == key
            ),
            {},
        )
        if status == "Failed" and all(last_record.get(name) == record[name] for name in record):
            return last_record
        record.update(ActivityId=str(uuid.uuid4()), StartTime=self._clock())
        self._activities.append(record)
        if "NotScaledReasons" not in record:
            self._report(_dashboard_event(record))
        return record


def _dashboard_event(activity: Record) -> DashboardEvent:
    """Return the dashboard event that reports an activity."""
    key = TargetKey.from_request(activity)
    status = activity["StatusCode"]
    message = f"{activity['Description'].rstrip('.')} ({status}): {activity['Cause']}"
    if status in ("Failed", "Unfulfilled"):
        message = f"{message}. {activity['StatusMessage']}"
    return DashboardEvent(_EVENT_KINDS[status], message, endpoint=key.endpoint, variant=key.variant)
