"""The dashboard's latest events, in the order of their reports."""

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
"""Maximum length of a message, which may contain a container's output."""


class Events:
    """The latest `MAX_EVENTS` events. All methods are thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._latest: deque[Record] = deque(maxlen=MAX_EVENTS)

    def tell(self, happening: DashboardEvent) -> None:
        """Add an event."""
        with self._lock:
            event = {
                **asdict(happening),
                "sequence": next(self._numbers),
                "time": self._clock() if happening.time is None else happening.time,
                "name": happening.model and model_name(happening.model),
                "message": _short(happening.message),
            }
            self._latest.append(event)

    def after(self, sequence: int) -> list[Record]:
        """Return the events after a sequence number, the oldest first."""
        with self._lock:
            return [event for event in self._latest if event["sequence"] > sequence]


def _short(message: str) -> str:
    return (
        message if len(message) <= MAX_MESSAGE_LENGTH else f"{message[: MAX_MESSAGE_LENGTH - 1]}…"
    )
