"""Sending of the containers' logs to CloudWatch Logs."""

import logging
import threading
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from local_sagemaker.hosting.triton import Triton
from local_sagemaker.log_stream import LogStream

INTERVAL_SECONDS = 1.0
"""Interval of sending new lines; not shortened by the accelerated clock."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _FollowedLog:
    """The log of a server, and its log group and stream `name`."""

    triton: Triton
    stream: LogStream
    group: str
    name: str


class ContainerLogs:
    """A thread that sends the logs of all containers. `client` is the CloudWatch Logs client.

    A log group is only created when an instance starts: late lines must not recreate a group that
    was deleted.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._new: list[_FollowedLog] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def follow_log(self, group: str, name: str, triton: Triton) -> None:
        """Send a server's log from now on until the server has ended."""
        stream = LogStream(triton.log, self._client)
        with self._lock:
            self._new.append(_FollowedLog(triton, stream, group, name))

    def stop(self) -> None:
        """Send the remaining lines, and end the thread."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        logs: list[_FollowedLog] = []
        running = True
        while running:
            running = not self._stopping.wait(INTERVAL_SECONDS)
            with self._lock:
                new, self._new = self._new, []
            logs = [log for log in logs + list(filter(_open, new)) if _send(log)]


def _open(log: _FollowedLog) -> bool:
    """Create the log stream; return False if CloudWatch Logs rejects it."""
    try:
        log.stream.open(log.group, log.name)
    except (ClientError, BotoCoreError) as error:
        _log.warning("%s has no stream %s: %s", log.group, log.name, error)
        return False
    return True


def _send(log: _FollowedLog) -> bool:
    """Send new lines; return whether more may follow."""
    ended = log.triton.wait(0)  # checked before sending, so that the last lines are sent
    error = log.stream.send()
    if error:
        _log.warning("%s does not take the log of %s: %s", log.group, log.name, error)
    return not ended and error is None
