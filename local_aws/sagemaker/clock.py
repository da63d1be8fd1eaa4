"""How AWS's time passes here: waits are shortened, what really happens takes the time it takes."""

import math
import os
import threading
import time

from local_aws.errors import LocalAwsError

SPEED = "LOCAL_AWS_SPEED"
"""Variable of `up`: how many seconds of an update's waits pass in one second here."""

_DEFAULT = 60.0


def speed_of_waits() -> float:
    """Return what the variable says, or 60. Raises `LocalAwsError` for what is no speed."""
    value = os.environ.get(SPEED)
    if not value:
        return _DEFAULT
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise LocalAwsError(
            f"{SPEED} is {value!r}: write a number above 0, such as 60, of seconds of an update's "
            "waits that pass in one second"
        )
    return number


class Clock:
    """The time of one update, in AWS's seconds."""

    def __init__(self, speed: float = _DEFAULT) -> None:
        self._speed = speed
        self._ahead = 0.0

    def now(self) -> float:
        """Return the seconds since some moment."""
        return time.monotonic() + self._ahead

    def sleep(self, seconds: float, until: threading.Event) -> None:
        """Let `seconds` pass, or less if the event is set."""
        begun = time.monotonic()
        if not until.wait(seconds / self._speed):
            self._ahead += seconds - (time.monotonic() - begun)
