"""Build archives side by side, with the functions that CloudFormation would call."""

import json
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from release.delivery.errors import NotDelivered
from release.delivery.steps import say

START_FUNCTION, POLL_FUNCTION = "StartFunction", "PollFunction"
"""The outputs of the models' stack that name the functions."""

WAIT_MINUTES = 220
"""How long a build may wait for its engines; `ModelBuilder` ends it after 240."""
POLL_SECONDS = 10
SAY_SECONDS = 60

Properties = dict[str, str]
"""What one build is given: the properties of its resource in the template."""


@dataclass(frozen=True)
class _Build:
    """A build under way. `event` is what is asked of how it goes."""

    event: dict[str, Any]
    begun: float

    @property
    def key(self) -> str:
        return str(self.event["ResourceProperties"]["Key"])

    @property
    def name(self) -> str:
        return f"{self.key} ({self.event['BuildId']})"

    @property
    def minutes(self) -> str:
        return f"{(time.monotonic() - self.begun) / 60:.0f} min"


@dataclass(frozen=True)
class Builder:
    """The functions `start` and `poll`, through a client of their region."""

    functions: Any
    start: str
    poll: str

    def build(self, archives: Sequence[Properties]) -> None:
        """Build `archives`, and say how it goes.

        Raises `NotDelivered` at the first that fails; the others go on, and are found next time.
        """
        running: list[_Build] = []
        for archive in archives:
            with _naming_others(running):
                build = self._started(archive)
            if "BuildId" in build.event:
                running.append(build)
        said = time.monotonic()
        while running:
            running = self._still_running(running)
            if running and time.monotonic() - said >= SAY_SECONDS:
                said = time.monotonic()
                say(f"  {running[0].minutes}: {', '.join(it.name for it in running)}")
            if running:
                time.sleep(POLL_SECONDS)

    def _started(self, properties: Properties) -> _Build:
        event = {
            "RequestType": "Create",
            "RequestId": str(uuid.uuid4()),
            "ResourceProperties": {**properties, "WaitMinutes": str(WAIT_MINUTES)},
        }
        build = _Build({**event, **self._asked(self.start, event)}, time.monotonic())
        if "BuildId" in build.event:
            say(f"  builds {build.name}")
        return build

    def _still_running(self, builds: Sequence[_Build]) -> list[_Build]:
        running: list[_Build] = []
        for number, build in enumerate(builds):
            with _naming_others([*running, *builds[number + 1 :]]):
                done = self._asked(self.poll, build.event)["IsComplete"]
            if done:
                say(f"  built {build.key} ({build.minutes})")
            else:
                running.append(build)
        return running

    def _asked(self, function: str, event: dict[str, Any]) -> dict[str, Any]:
        """Return a function's answer. Raises `NotDelivered` with what it failed with."""
        try:
            answer = self.functions.invoke(FunctionName=function, Payload=json.dumps(event))
        except (BotoCoreError, ClientError) as error:
            raise NotDelivered(f"AWS: {error}") from None
        said: dict[str, Any] = json.loads(answer["Payload"].read())
        if "FunctionError" in answer:
            key = event["ResourceProperties"]["Key"]
            raise NotDelivered(f"{key}: {said['errorMessage']}")
        return said


@contextmanager
def _naming_others(builds: Sequence[_Build]) -> Iterator[None]:
    """Let a failure say which builds go on."""
    try:
        yield
    except NotDelivered as error:
        others = ", ".join(it.name for it in builds)
        raise NotDelivered(
            f"{error}\n  goes on in CodeBuild: {others}" if others else str(error)
        ) from None
