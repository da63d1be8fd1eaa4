"""The dashboard's latest events."""

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from local_sagemaker.dashboard_events import DashboardEvent
from local_sagemaker.watch.models import model_name

Record = dict[str, Any]

MAX_EVENTS = 500
MAX_MESSAGE_LENGTH = 600
"""Maximum length of a message in characters. A message may contain the output of a container."""


class Events:
    """The latest `MAX_EVENTS` events, the oldest first. All methods are thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._sequence_numbers = itertools.count(1)
        self._latest: deque[Record] = deque(maxlen=MAX_EVENTS)

    def add(self, event: DashboardEvent) -> None:
        """Add an event."""
        with self._lock:
            record = {
                **asdict(event),
                "sequence": next(self._sequence_numbers),
                "time": self._clock() if event.time is None else event.time,
                "name": event.model and model_name(event.model),
                "message": _shorten(event.message),
            }
            self._latest.append(record)

    def after(self, sequence: int) -> list[Record]:
        """Return the events with a higher sequence number, the oldest first."""
        with self._lock:
            return [event for event in self._latest if event["sequence"] > sequence]


def _shorten(message: str) -> str:
    return (
        message if len(message) <= MAX_MESSAGE_LENGTH else f"{message[: MAX_MESSAGE_LENGTH - 1]}…"
    )
