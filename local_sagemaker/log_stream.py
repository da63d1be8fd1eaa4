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
    """A log file whose lines are log events, including the newline.

    `client` is the CloudWatch Logs client. Unsent lines are only in the file, not in memory.
    """

    def __init__(self, file: Path, client: Any, clock: Callable[[], float] = time.time) -> None:
        self.file = file
        self._client, self._clock = client, clock
        self._destination: dict[str, str] | None = None
        self._sent = 0

    def open(self, group: str, stream: str) -> None:
        """Create the stream, and its group if missing. Raise botocore's errors.

        Before this, `send` does nothing.
        """
        destination = {"logGroupName": group, "logStreamName": stream}
        try:
            self._client.create_log_stream(**destination)
        except ClientError as error:
            if error.response["Error"]["Code"] != "ResourceNotFoundException":
                raise
            self._make_group(group)
            self._client.create_log_stream(**destination)
        self._destination = destination

    def send(self) -> Exception | None:
        """Send new lines. Return the error if CloudWatch Logs rejects them; then sending ends."""
        refused = None
        if self._destination is None:
            return None
        with self.file.open("rb") as log:
            log.seek(self._sent)
            try:
                while batch := self._events(islice(log, BATCH_EVENTS)):
                    self._client.put_log_events(**self._destination, logEvents=batch)
            except (ClientError, BotoCoreError) as error:
                self._destination, refused = None, error
            self._sent = log.tell()
        return refused

    def _make_group(self, name: str) -> None:
        try:
            self._client.create_log_group(logGroupName=name)
        except ClientError as error:  # may have been created concurrently
            if error.response["Error"]["Code"] != "ResourceAlreadyExistsException":
                raise

    def _events(self, lines: Iterable[bytes]) -> list[dict[str, Any]]:
        now = int(self._clock() * 1000)
        return [{"timestamp": now, "message": line.decode(errors="replace")} for line in lines]
