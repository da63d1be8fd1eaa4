"""The log of a build: a file whose lines are sent to CloudWatch Logs."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.log_stream import LogStream

Record = dict[str, Any]
CONSOLE = f"https://console.aws.amazon.com/cloudwatch/home?region={REGION}"


def stream_name(config: Record, project: str, build: str) -> tuple[str, str] | None:
    """Return log group and stream of a build, or None if its logs are disabled.

    `config` is a LogsConfig (API), whose stream name is a prefix; `build` is the build's UUID.
    """
    logs = config["cloudWatchLogs"]
    if logs["status"] == "DISABLED":
        return None
    name = "/".join(filter(None, [logs.get("streamName"), build]))
    return logs.get("groupName") or f"/aws/codebuild/{project}", name


def logs_member(config: Record, stream: tuple[str, str] | None) -> Record:
    """Return the `logs` member of a build.

    Before the stream exists, the names in links are "null" (the AWS CLI's examples of retry-build
    and stop-build).
    """
    group, name = stream or ("null", "null")
    log = {
        "deepLink": f"{CONSOLE}#logEvent:group={group};stream={name}",
        "cloudWatchLogsArn": f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{group}:log-stream:{name}",
        **config,
    }
    return log if stream is None else {"groupName": group, "streamName": name, **log}


class Log(LogStream):
    """The output of a build's commands, and lines of CodeBuild's agent.

    Source of the agent's lines: logs published by users, such as aws/copilot-cli#2780.
    """

    def __init__(self, file: Path, client: Any, clock: Callable[[], float] = time.time) -> None:
        super().__init__(file, client, clock)
        file.touch()

    def write_agent_line(self, text: str) -> None:
        """Write a line of CodeBuild's agent."""
        now = time.strftime("%Y/%m/%d %H:%M:%S", time.gmtime(self._clock()))
        with self.file.open("ab+") as log:
            if log.tell():
                log.seek(-1, 2)
                log.write(b"" if log.read() == b"\n" else b"\n")
            log.write(f"[Container] {now} {text}\n".encode())

    def send(self) -> Exception | None:
        """Send new lines; write an error of CloudWatch Logs into the file."""
        error = super().send()
        if error:
            self.write_agent_line(f"Cannot write to CloudWatch Logs: {error}")
        return error
