"""How AWS's time passes here: waits are shortened, what really happens takes the time it takes."""

import math
import threading
import time

from local_aws.errors import LocalAwsError

SPEED = 60.0
"""Seconds of an update's waits that pass in one second here, unless `up --speed` says otherwise."""


def speed(value: str) -> float:
    """Read a speed. Raises `LocalAwsError`."""
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise LocalAwsError(
            f"A speed is a number above 0, such as 60, and not {value!r}: it says how many seconds "
            "of an update's waits pass in one second."
        )
    return number


class Clock:
    """The time of one update, in AWS's seconds."""

    def __init__(self, speed: float = SPEED) -> None:
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
