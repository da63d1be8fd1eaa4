"""Scaling activities, as DescribeScalingActivities returns them.

Source of the messages: the API reference of DescribeScalingActivities, the user guide's "Scaling
activities", and for variants SageMaker's developer guide, endpoint-scaling-query-history.
"""

import time
import uuid
from collections import deque
from collections.abc import Callable

from local_sagemaker.autoscaling.targets import Record, TargetKey
from local_sagemaker.dashboard_events import DashboardEvent, EventKind, OnEvent, ignore_event
from local_sagemaker.errors import ApiError

_KINDS = {
    "InProgress": EventKind.SCALING,
    "Successful": EventKind.SCALING_ENDED,
    "Unfulfilled": EventKind.SCALING_FAILED,
    "Failed": EventKind.SCALING_FAILED,
}

MAX_ACTIVITIES = 1000
"""Number of activities kept; AWS keeps them for six weeks."""


class Activities:
    """Scaling activities, the latest last. `tell` is called at each status change of an activity.

    Callers must add and end activities under one lock.
    """

    def __init__(
        self, clock: Callable[[], float] = time.time, tell: OnEvent = ignore_event
    ) -> None:
        self._clock, self._tell = clock, tell
        self._known: deque[Record] = deque(maxlen=MAX_ACTIVITIES)

    def begin(self, key: TargetKey, capacity: int, cause: str) -> Record:
        """Add the activity of a capacity change that SageMaker has accepted."""
        return self._add(
            key,
            f"Setting desired {key.unit} count to {capacity}.",
            cause,
            "InProgress",
            f"Successfully set desired {key.unit} count to {capacity}. Waiting for "
            "change to be fulfilled by sagemaker.",
        )

    def end(self, activity: Record, capacity: int, problem: str | None) -> None:
        """Complete an activity: the capacity was reached, or it was not because of `problem`.

        The wording of the second case is not AWS's.
        """
        unit = TargetKey.from_request(activity).unit
        message = (
            f"Successfully set desired {unit} count to {capacity}. Change successfully fulfilled "
            "by sagemaker."
            if problem is None
            else f"Failed to reach desired {unit} count {capacity}: {problem}"
        )
        status = "Successful" if problem is None else "Unfulfilled"
        activity.update(StatusCode=status, StatusMessage=message, EndTime=self._clock())
        self._tell(_happening(activity))

    def fail(self, key: TargetKey, capacity: int, cause: str, error: ApiError) -> None:
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
        self._add(key, description, cause, "Failed", message, EndTime=self._clock())

    def limits(
        self, key: TargetKey, name: str, smallest: int, largest: int, refusal: str | None = None
    ) -> None:
        """Add the activity of a scheduled action, which failed if `refusal` is given."""
        limits = f"min capacity to {smallest} and max capacity to {largest}"
        cause = f"scheduled action name {name} was triggered"
        status = "Failed" if refusal else "Successful"
        message = f"Failed to set {limits}: {refusal}" if refusal else f"Successfully set {limits}"
        self._add(key, f"Setting {limits}", cause, status, message)

    def all(self) -> list[Record]:
        """Return all activities."""
        return [dict(activity) for activity in list(self._known)]

    def _add(
        self, key: TargetKey, description: str, cause: str, status: str, message: str, **more: float
    ) -> Record:
        record = {
            **key.members,
            "Description": description,
            "Cause": cause,
            "StatusCode": status,
            "StatusMessage": message,
        }
        last = next(
            (record for record in reversed(self._known) if TargetKey.from_request(record) == key),
            {},
        )
        if status == "Failed" and record.items() <= last.items():
            return last
        started = {"ActivityId": str(uuid.uuid4()), "StartTime": self._clock()}
        record.update(started, **more)
        self._known.append(record)
        self._tell(_happening(record))
        return record


def _happening(activity: Record) -> DashboardEvent:
    """Return the dashboard event of an activity: description, status and cause."""
    key = TargetKey.from_request(activity)
    status = activity["StatusCode"]
    message = f"{activity['Description'].rstrip('.')} ({status}): {activity['Cause']}"
    if status in ("Failed", "Unfulfilled"):
        message = f"{message}. {activity['StatusMessage']}"
    return DashboardEvent(_KINDS[status], message, endpoint=key.endpoint, variant=key.variant)
