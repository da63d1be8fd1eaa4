"""A build's log: a file, whose new lines are sent to CloudWatch Logs periodically."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.log_stream import LogStream

Record = dict[str, Any]
CONSOLE = f"https://console.aws.amazon.com/cloudwatch/home?region={REGION}"


def stream(config: Record, project: str, build: str) -> tuple[str, str] | None:
    """Return group and stream of a build with this UUID, None where a project wants no log.

    `config` is API, LogsConfig; its stream name is a prefix.
    """
    logs = config["cloudWatchLogs"]
    if logs["status"] == "DISABLED":
        return None
    name = "/".join(filter(None, [logs.get("streamName"), build]))
    return logs.get("groupName") or f"/aws/codebuild/{project}", name


def location(config: Record, stream: tuple[str, str] | None) -> Record:
    """Return the `logs` member of a build's record.

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


class Log(LogStream):
    """Everything that a build prints, with what CodeBuild's own agent says in between.

    Its lines are as users have shown them in many issues (aws/copilot-cli#2780, say).
    """

    def __init__(self, file: Path, client: Any, clock: Callable[[], float] = time.time) -> None:
        super().__init__(file, client, clock)
        file.touch()

    def say(self, text: str) -> None:
        """Write a line of CodeBuild's own."""
        now = time.strftime("%Y/%m/%d %H:%M:%S", time.gmtime(self._clock()))
        with self.file.open("ab+") as log:
            if log.tell():
                log.seek(-1, 2)
                log.write(b"" if log.read() == b"\n" else b"\n")
            log.write(f"[Container] {now} {text}\n".encode())

    def send(self) -> Exception | None:
        """Send what is new; what CloudWatch does not take stays in the file."""
        refused = super().send()
        if refused:
            self.say(f"Cannot write to CloudWatch Logs: {refused}")
        return refused
