"""Saving of the state that `up --keep` restores, by the main process."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

from local_sagemaker.kept_state import CONFLICT, SAVE_PATH
from local_sagemaker.lifecycle import LOOPBACK_OPENER

INTERVAL_SECONDS = 1
MAX_LOAD = 0.05
"""Maximum share of the time in which changes are looked for and saved: ministack does nothing else
while it saves, and the catalog of a stage may have thousands of models."""


class Saver:
    """Saves changes; `url` is that of ministack, and `records` are those of this process."""

    def __init__(self, url: str, records: Callable[[], dict[str, Any]]) -> None:
        self._url, self._records = f"{url}{SAVE_PATH}", records
        self._calls, self._pause_until = 0, 0.0
        self._saved = self._current()

    def add_call(self) -> None:
        """Note that ministack has answered a call which may have changed something."""
        self._calls += 1

    def save_changes(self) -> None:
        """Save if something was changed since the last time, unless a stack is changing."""
        start = time.monotonic()
        if start < self._pause_until:
            return
        current = self._current()
        if current != self._saved and self._send(current[1]):
            self._saved = current
        self._pause_until = start + (time.monotonic() - start) / MAX_LOAD

    def save_end(self) -> None:
        """Save before the local SageMaker ends, unless a stack is changing."""
        self._send(self._current()[1], query="?end")

    def _current(self) -> tuple[int, str]:
        return self._calls, json.dumps(self._records())

    def _send(self, records: str, query: str = "") -> bool:
        """Return whether the file was written."""
        request = urllib.request.Request(self._url + query, records.encode(), method="PUT")
        try:
            LOOPBACK_OPENER.open(request).close()
        except urllib.error.HTTPError as error:
            if error.code != CONFLICT:
                raise
            return False
        except OSError:  # ministack has ended, and so will this process
            return False
        return True
