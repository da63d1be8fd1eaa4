"""A log file whose new lines are sent to CloudWatch Logs."""

import time
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

BATCH_EVENTS = 10_000
"""Maximum number of events in a PutLogEvents request."""


class LogStream:
    """A log file and its log stream. Each line of the file, with its newline, is a log event.

    `client` is the CloudWatch Logs client. Unsent lines are only in the file, not in memory.
    """

    def __init__(self, file: Path, client: Any, clock: Callable[[], float] = time.time) -> None:
        self.file = file
        self._client, self._clock = client, clock
        self._destination: dict[str, str] | None = None
        self._sent_bytes = 0

    def open(self, group: str, stream: str) -> None:
        """Create the log stream, and its group, if missing. Raise botocore's errors.

        `send` does nothing before this call. An existing stream is continued: a copy of an
        inference component may have the number of an earlier one on its instance.
        """
        destination = {"logGroupName": group, "logStreamName": stream}
        try:
            _create(self._client.create_log_stream, **destination)
        except ClientError as error:
            if error.response["Error"]["Code"] != "ResourceNotFoundException":
                raise
            _create(self._client.create_log_group, logGroupName=group)
            _create(self._client.create_log_stream, **destination)
        self._destination = destination

    def send(self) -> Exception | None:
        """Send new lines. If that fails, return the error; later calls do nothing."""
        if self._destination is None:
            return None
        failure: Exception | None = None
        with self.file.open("rb") as log:
            log.seek(self._sent_bytes)
            try:
                while batch := self._events(islice(log, BATCH_EVENTS)):
                    self._client.put_log_events(**self._destination, logEvents=batch)
            except (ClientError, BotoCoreError) as error:
                self._destination, failure = None, error
            self._sent_bytes = log.tell()
        return failure

    def _events(self, lines: Iterable[bytes]) -> list[dict[str, Any]]:
        now = int(self._clock() * 1000)
        return [{"timestamp": now, "message": line.decode(errors="replace")} for line in lines]


def _create(create: Callable[..., Any], **members: str) -> None:
    """Create a group or a stream, if it does not exist."""
    try:
        create(**members)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceAlreadyExistsException":
            raise
