"""Sending of the containers' logs to CloudWatch Logs."""

import logging
import threading
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from local_sagemaker.hosting.triton import Triton
from local_sagemaker.log_stream import LogStream

SECONDS = 1.0
"""Interval of sending new lines, in real seconds."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Followed:
    triton: Triton
    stream: LogStream
    group: str
    name: str


class ContainerLogs:
    """A thread that sends the logs of all containers. `client` is the CloudWatch Logs client.

    Log groups are only created when an instance starts, so that late lines do not recreate a
    deleted group.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._new: list[_Followed] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def follow(self, group: str, name: str, triton: Triton) -> None:
        """Send a server's log from now on until the server has ended."""
        stream = LogStream(triton.log, self._client)
        with self._lock:
            self._new.append(_Followed(triton, stream, group, name))

    def stop(self) -> None:
        """Send the remaining lines, and end the thread."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        followed: list[_Followed] = []
        running = True
        while running:
            running = not self._stopping.wait(SECONDS)
            with self._lock:
                new, self._new = self._new, []
            followed = [server for server in followed + list(filter(_open, new)) if _send(server)]


def _open(followed: _Followed) -> bool:
    try:
        followed.stream.open(followed.group, followed.name)
    except (ClientError, BotoCoreError) as error:
        _log.warning("%s has no stream %s: %s", followed.group, followed.name, error)
        return False
    return True


def _send(followed: _Followed) -> bool:
    """Send new lines; return whether more may follow."""
    ended = followed.triton.wait(0)  # checked before sending, so that the last lines are sent
    refused = followed.stream.send()
    if refused:
        _log.warning("%s does not take the log of %s: %s", followed.group, followed.name, refused)
    return not ended and refused is None
