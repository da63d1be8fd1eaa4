"""Build archives side by side, with the functions that CloudFormation would call."""

import json
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from release.delivery.errors import NotDelivered, Unfinished, expired, explained
from release.delivery.steps import say

START_FUNCTION, POLL_FUNCTION = "StartFunction", "PollFunction"
"""The outputs of the models' stack that name the functions."""

POLL_SECONDS = 10
SAY_SECONDS = 60

Properties = dict[str, str]
"""What one build is given: the properties of its resource in the template."""


@dataclass(frozen=True)
class _Build:
    """A build in progress, or one that waits for a place. `event` is what each poll is given."""

    event: dict[str, Any]
    begun: float

    @property
    def key(self) -> str:
        return str(self.event["ResourceProperties"]["Key"])

    @property
    def name(self) -> str:
        return f"{self.key} ({self.event.get('BuildId', 'not started yet')})"

    @property
    def minutes(self) -> str:
        return f"{(time.monotonic() - self.begun) / 60:.0f} min"


@dataclass(frozen=True)
class Builder:
    """The functions `start` and `poll`, through a client of their region.

    A build waits `wait_minutes` for its engines; None is as long as CloudFormation lets it.
    """

    functions: Any
    start: str
    poll: str
    wait_minutes: int | None

    def build(self, archives: Sequence[Properties]) -> None:
        """Build `archives`, and say how it goes.

        Raises `NotDelivered` at the first that fails, `Unfinished` where the credentials have
        expired; the others go on, and are found next time.
        """
        running: list[_Build] = []
        for archive in archives:
            with _naming_others(running):
                build = self._started(archive)
            if "Deadline" in build.event:
                running.append(build)
        reported = time.monotonic()
        while running:
            running = self._still_running(running)
            if running and time.monotonic() - reported >= SAY_SECONDS:
                reported = time.monotonic()
                say(f"  {running[0].minutes}: {', '.join(it.name for it in running)}")
            if running:
                time.sleep(POLL_SECONDS)

    def _started(self, properties: Properties) -> _Build:
        wait = {} if self.wait_minutes is None else {"WaitMinutes": str(self.wait_minutes)}
        event = {
            "RequestType": "Create",
            "RequestId": str(uuid.uuid4()),
            "ResourceProperties": {**properties, **wait},
        }
        return _Build({**event, **self._asked(self.start, event)}, time.monotonic())

    def _still_running(self, builds: Sequence[_Build]) -> list[_Build]:
        running: list[_Build] = []
        for number, build in enumerate(builds):
            with _naming_others([*running, *builds[number + 1 :]], asked=build):
                answer = self._asked(self.poll, build.event)
            if answer["IsComplete"]:
                say(f"  built {build.key} ({build.minutes})")
                continue
            polled = replace(build, event={**build.event, **answer})
            if polled.name != build.name:
                say(f"  builds {polled.name}")
            running.append(polled)
        return running

    def _asked(self, function: str, event: dict[str, Any]) -> dict[str, Any]:
        """Return a function's answer.

        Raises `NotDelivered` with what it failed with, `Unfinished` as `build` does.
        """
        try:
            answer = self.functions.invoke(FunctionName=function, Payload=json.dumps(event))
        except (BotoCoreError, ClientError) as error:
            raise (Unfinished if expired(error) else NotDelivered)(explained(error)) from None
        told: dict[str, Any] = json.loads(answer["Payload"].read())
        if "FunctionError" in answer:
            key = event["ResourceProperties"]["Key"]
            raise NotDelivered(f"{key}: {told['errorMessage']}")
        return told


@contextmanager
def _naming_others(builds: Sequence[_Build], *, asked: _Build | None = None) -> Iterator[None]:
    """Let a failure say which builds go on: also the one `asked` for, where nobody could ask."""
    try:
        yield
    except (NotDelivered, Unfinished) as error:
        unknown = [asked] if asked and isinstance(error, Unfinished) else []
        others = ", ".join(it.name for it in (*unknown, *builds) if "BuildId" in it.event)
        raise type(error)(
            f"{error}\n  goes on in CodeBuild: {others}" if others else str(error)
        ) from None
