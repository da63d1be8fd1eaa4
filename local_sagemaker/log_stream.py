"""A file that goes on being written, and what is new in it to CloudWatch Logs."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

MAX_EVENTS = 10_000
MAX_BYTES = 1_048_576
EVENT_BYTES = 26
"""What PutLogEvents takes at once; each event counts so much more than its message."""

PIECE_BYTES = 262_144
"""Longer lines are cut: decoded, a piece may be three times as long, and it must fit."""


class LogStream:
    """A log whose lines are events, each with the newline at its end.

    `client` is CloudWatch Logs'. What waits to be sent is in the file: nothing else holds it.
    """

    def __init__(self, file: Path, client: Any, clock: Callable[[], float] = time.time) -> None:
        self.file = file
        self._client, self._clock = client, clock
        self._destination: dict[str, str] | None = None
        self._sent = 0

    def open(self, group: str, stream: str) -> None:
        """Make the stream, and the group where there is none; from now on `send` sends.

        Raises `ClientError` and `BotoCoreError`.
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
        """Send what is new. Return why CloudWatch does not take it: nothing is sent any more."""
        refused = None
        if self._destination is None:
            return None
        with self.file.open("rb") as log:
            log.seek(self._sent)
            try:
                for batch in self._batches(iter(lambda: log.readline(PIECE_BYTES), b"")):
                    self._client.put_log_events(**self._destination, logEvents=batch)
            except (ClientError, BotoCoreError) as error:
                self._destination, refused = None, error
            self._sent = log.tell()
        return refused

    def _make_group(self, name: str) -> None:
        try:
            self._client.create_log_group(logGroupName=name)
        except ClientError as error:  # another stream's may have made it meanwhile
            if error.response["Error"]["Code"] != "ResourceAlreadyExistsException":
                raise

    def _batches(self, lines: Iterator[bytes]) -> Iterator[list[dict[str, Any]]]:
        now = int(self._clock() * 1000)
        batch: list[dict[str, Any]] = []
        size = 0
        for line in lines:
            message = line.decode(errors="replace")
            length = len(message.encode()) + EVENT_BYTES
            if batch and (len(batch) == MAX_EVENTS or size + length > MAX_BYTES):
                yield batch
                batch, size = [], 0
            batch.append({"timestamp": now, "message": message})
            size += length
        if batch:
            yield batch
