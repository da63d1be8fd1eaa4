"""The latest events, in the order of their reports."""

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from local_sagemaker.happenings import Happening
from local_sagemaker.watch.models import model_name

Record = dict[str, Any]

MOST = 500
MOST_MESSAGE = 600
"""Characters of a message, which may be all that a container says."""


class Events:
    """Keeps the latest `MOST`; every method is safe to call from any thread."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._latest: deque[Record] = deque(maxlen=MOST)

    def tell(self, happening: Happening) -> None:
        """Keep what happened."""
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
        """Return the events after one, the oldest first."""
        with self._lock:
            return [each for each in self._latest if each["sequence"] > sequence]


def _short(message: str) -> str:
    return message if len(message) <= MOST_MESSAGE else f"{message[: MOST_MESSAGE - 1]}…"
