"""Recording of AWS responses: operation, relevant members and date."""

import re
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import jmespath
from botocore import xform_name
from botocore.exceptions import ClientError

from release.preflight.clients import client

Record = dict[str, Any]

RECORDED_MEMBERS = Path(__file__).with_name("recorded_members.toml")
NOT_EMULATED = re.compile("the local SageMaker (has no|does not support)", re.IGNORECASE)
"""Error of the local SageMaker for operations that it does not emulate; not recorded."""


@dataclass(frozen=True)
class Answer:
    """A response; `error` has Code and Message of an error response.

    Operations of the service "app" record values of this project, for comparison with AWS.
    """

    step: str
    date: datetime
    operation: str
    request: Record
    response: Record
    error: Record | None = None

    @property
    def summary(self) -> str:
        """The error, or the response."""
        if self.error:
            return f"{self.error['Code']}: {self.error['Message']}"
        return str(self.response or "accepted")


class Answers(tuple[Answer, ...]):
    """Responses in the order of the calls."""

    def of(self, operation: str, step: str | None = None) -> "Answers":
        """Return the responses of an operation, such as `DescribeEndpoint`, or only of a step."""
        answers = (answer for answer in self if answer.operation.endswith(f":{operation}"))
        return Answers(answer for answer in answers if step in (None, answer.step))

    @property
    def successful(self) -> "Answers":
        """The responses without an error."""
        return Answers(answer for answer in self if answer.error is None)


class AnswerRecorder:
    """A caller of AWS operations that records the responses."""

    def __init__(self, session: boto3.Session) -> None:
        self.session, self.step = session, ""
        self._answers: list[Answer] = []
        self._clients: dict[str, Any] = {}

    @property
    def answers(self) -> Answers:
        """The recorded responses, in the order of the calls."""
        return Answers(self._answers)

    def client(self, service: str) -> Any:
        """Return a boto3 client; its responses are not recorded."""
        if service not in self._clients:
            self._clients[service] = client(self.session, service)
        return self._clients[service]

    def pages(self, service: str, operation: str, **request: Any) -> Record:
        """Return a response with all its pages, without recording it. Raise `ClientError`."""
        aws, method = self.client(service), xform_name(operation)
        if aws.can_paginate(method):
            answer: Record = aws.get_paginator(method).paginate(**request).build_full_result()
        else:
            answer = getattr(aws, method)(**request)
        return answer

    def call(self, name: str, /, **request: Any) -> Record:
        """Call an operation, such as `sagemaker:DescribeEndpoint`; record and return the response.

        Raise `ClientError`, which is recorded too.
        """
        service, _, operation = name.partition(":")
        try:
            answer = self.pages(service, operation, **request)
        except ClientError as error:
            if not NOT_EMULATED.search(str(error)):
                self.record(name, request, error=dict(error.response["Error"]))
            raise
        self.record(name, request, select_members(operation, answer))
        return answer

    def record(
        self,
        name: str,
        request: Record,
        response: Record | None = None,
        error: Record | None = None,
    ) -> None:
        """Record a response, unless it equals the previous response to the same request."""
        identity = (self.step, name, request)
        result = (_without_none(response or {}), error)
        for previous in reversed(self._answers):
            if (previous.step, previous.operation, previous.request) == identity:
                if (previous.response, previous.error) == result:
                    return
                break
        self._answers.append(Answer(self.step, datetime.now(UTC), *identity[1:], *result))


@cache
def _expressions() -> dict[str, str]:
    return tomllib.loads(RECORDED_MEMBERS.read_text())


def select_members(operation: str, answer: Record) -> Record:
    """Return the response members in recorded_members.toml; none for other operations."""
    expression = _expressions().get(operation)
    members: Record = jmespath.search(expression, answer) if expression else {}
    return members


def _without_none(value: Any) -> Any:
    """Return a value without members that are None."""
    if isinstance(value, dict):
        return {name: _without_none(item) for name, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, list) else value
