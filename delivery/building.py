"""Build archives in parallel, with the functions that CloudFormation would call."""

import json
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from delivery.endpoint_moves import BuildProperties
from delivery.errors import NotDelivered, Unfinished, credentials_expired, explain_error
from delivery.steps import say, wait_while

START_FUNCTION, POLL_FUNCTION = "StartFunction", "PollFunction"
"""Names of the outputs of the model stack that have the names of the Lambda functions."""


@dataclass(frozen=True)
class _Build:
    """A running or queued build.

    `event` is the payload of each poll, `start` is in `time.monotonic` seconds.
    """

    event: dict[str, Any]
    start: float

    @property
    def key(self) -> str:
        return str(self.event["ResourceProperties"]["Key"])

    @property
    def name(self) -> str:
        return f"{self.key} ({self.event.get('BuildId', 'not started yet')})"


@dataclass(frozen=True)
class Builder:
    """The Lambda functions `start` and `poll`; `functions` is a client in their region.

    The CodeBuild build of an archive waits at most `wait_minutes` for its engines.
    """

    functions: Any
    start: str
    poll: str
    wait_minutes: int

    def build(self, archives: Sequence[BuildProperties]) -> None:
        """Build `archives` and print progress.

        Raise `NotDelivered` when a build fails, `Unfinished` when credentials have expired. Both
        errors list the builds that are still running: the next delivery uses their archives.
        """
        running: dict[str, _Build] = {}
        try:
            for archive in archives:
                build = self._start(archive)
                running[build.key] = build
            wait_while("builds", lambda: self._poll(running))
        except (NotDelivered, Unfinished) as error:
            running_builds = [build.name for build in running.values() if "BuildId" in build.event]
            message = str(error)
            if running_builds:
                message += f"\n  still running in CodeBuild: {', '.join(running_builds)}"
            raise type(error)(message) from None

    def _start(self, properties: BuildProperties) -> _Build:
        event = {
            "RequestType": "Create",
            "RequestId": str(uuid.uuid4()),
            "ResourceProperties": {**properties, "WaitMinutes": str(self.wait_minutes)},
        }
        return _Build({**event, **self._invoke(self.start, event)}, time.monotonic())

    def _poll(self, running: dict[str, _Build]) -> str | None:
        """Poll every build and remove completed ones; return the names of the remaining builds."""
        for key, build in list(running.items()):
            try:
                response = self._invoke(self.poll, build.event)
            except NotDelivered:
                del running[key]
                raise
            running[key] = replace(build, event={**build.event, **response})
            if response["IsComplete"]:
                del running[key]
                say(f"  built {key} ({(time.monotonic() - build.start) / 60:.0f} min)")
        return ", ".join(build.name for build in running.values()) or None

    def _invoke(self, function: str, event: dict[str, Any]) -> dict[str, Any]:
        """Return a function's response. Raise `NotDelivered` and `Unfinished` as `build` does."""
        try:
            response = self.functions.invoke(FunctionName=function, Payload=json.dumps(event))
        except (BotoCoreError, ClientError) as error:
            error_type = Unfinished if credentials_expired(error) else NotDelivered
            raise error_type(explain_error(error)) from None
        payload: dict[str, Any] = json.loads(response["Payload"].read())
        if "FunctionError" in response:
            key = event["ResourceProperties"]["Key"]
            raise NotDelivered(f"{key}: {payload['errorMessage']}")
        return payload
