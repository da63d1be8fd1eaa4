"""A build's log: a file here, and from time to time what is new in it to CloudWatch Logs."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from local_aws.environment import ACCOUNT, REGION

Record = dict[str, Any]
CONSOLE = f"https://console.aws.amazon.com/cloudwatch/home?region={REGION}"
MAX_EVENTS = 10_000
MAX_BYTES = 1_048_576
EVENT_BYTES = 26
"""What PutLogEvents takes at once; each event counts so much more than its message."""

PIECE_BYTES = 262_144
"""Longer lines are cut: decoded, a piece may be three times as long, and it must fit."""


def stream(config: Record, project: str, build: str) -> tuple[str, str] | None:
    """Return group and stream of a build with this UUID, None where a project wants no log.

    `config` is API, LogsConfig; its stream name is a prefix.
    """
    wanted = config.get("cloudWatchLogs", {"status": "ENABLED"})
    if wanted["status"] == "DISABLED":
        return None
    prefix = wanted.get("streamName", "")
    group = wanted.get("groupName") or f"/aws/codebuild/{project}"
    return group, f"{prefix}/{build}" if prefix else build


def location(config: Record, stream: tuple[str, str] | None) -> Record:
    """Return what a build's record says of its log.

    Before the stream is made it says null, without members of their own (the AWS CLI's example of
    retry-build has the one, that of stop-build the other).
    """
    group, name = stream or ("null", "null")
    log = {
        "deepLink": f"{CONSOLE}#logEvent:group={group};stream={name}",
        "cloudWatchLogsArn": f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{group}:log-stream:{name}",
        **config,
    }
    return log if stream is None else {"groupName": group, "streamName": name, **log}


class Log:
    """Everything that a build prints, with what CodeBuild's own agent says in between.

    Its lines are as users have shown them in many issues (aws/copilot-cli#2780, say), and each is
    an event with the newline at its end. `client` is CloudWatch Logs'.
    """

    def __init__(self, file: Path, client: Any, clock: Callable[[], float] = time.time) -> None:
        self.file = file
        self._client, self._clock = client, clock
        self._destination: dict[str, str] | None = None
        self._sent = 0
        file.touch()

    def open(self, group: str, stream: str) -> None:
        """Make the stream, and the group where there is none; from now on `send` sends."""
        destination = {"logGroupName": group, "logStreamName": stream}
        try:
            self._client.create_log_stream(**destination)
        except ClientError as error:
            if error.response["Error"]["Code"] != "ResourceNotFoundException":
                raise
            self._make_group(group)
            self._client.create_log_stream(**destination)
        self._destination = destination

    def say(self, text: str) -> None:
        """Write a line of CodeBuild's own."""
        now = time.strftime("%Y/%m/%d %H:%M:%S", time.gmtime(self._clock()))
        with self.file.open("ab+") as log:
            if log.tell() and not self._ends_a_line():
                log.write(b"\n")
            log.write(f"[Container] {now} {text}\n".encode())

    def send(self) -> None:
        """Send what is new; what CloudWatch does not take stays in the file."""
        if self._destination is None:
            return
        with self.file.open("rb") as log:
            log.seek(self._sent)
            try:
                for batch in self._batches(iter(lambda: log.readline(PIECE_BYTES), b"")):
                    self._client.put_log_events(**self._destination, logEvents=batch)
            except (ClientError, BotoCoreError) as error:
                self._destination = None
                self.say(f"Cannot write to CloudWatch Logs: {error}")
            self._sent = log.tell()

    def _make_group(self, name: str) -> None:
        try:
            self._client.create_log_group(logGroupName=name)
        except ClientError as error:  # another build may have made it meanwhile
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

    def _ends_a_line(self) -> bool:
        with self.file.open("rb") as log:
            log.seek(-1, 2)
            return log.read() == b"\n"
