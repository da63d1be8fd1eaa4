"""Which scheduled actions are refused.

Source: the API reference of PutScheduledAction, for the forms of Schedule; that a new action needs
one, and limits that fit together, and the messages, have none.
"""

import re
from typing import Any

from local_aws.errors import ApiError

FORMS = re.compile(
    r"at\(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\)"
    r"|rate\([1-9]\d* (minute|hour|day)s?\)"
    r"|cron\(\S+( +\S+){5}\)"
)


def refuse_schedule(request: dict[str, Any]) -> None:
    """Raise `ApiError` for a schedule in no form, or without limits that fit together."""
    schedule = request.get("Schedule")
    if schedule is not None and not FORMS.fullmatch(schedule):
        raise ApiError("ValidationException", f"Invalid schedule expression: {schedule}")
    action = request.get("ScalableTargetAction")
    if action is None:
        return
    low, high = action.get("MinCapacity"), action.get("MaxCapacity")
    if low is None and high is None:
        raise ApiError("ValidationException", "Specify a minimum or maximum capacity.")
    if low is not None and high is not None and low > high:
        raise ApiError(
            "ValidationException", "Minimum capacity cannot be greater than maximum capacity."
        )
