"""Recorded answers of AWS: operation, relevant members, date."""

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

KEPT = Path(__file__).with_name("kept.toml")
NOT_EMULATED = re.compile("the local SageMaker has no", re.IGNORECASE)
"""How the local SageMaker rejects what it does not emulate: that is no answer of AWS."""


@dataclass(frozen=True)
class Answer:
    """An answer; `error` has Code and Message of an error response.

    Operations of "app" are what the product itself says, to be compared with answers of AWS.
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
    """Answers in their order."""

    def of(self, operation: str, step: str | None = None) -> "Answers":
        """Return those of one operation, such as `DescribeEndpoint`, and one step."""
        answers = (answer for answer in self if answer.operation.endswith(f":{operation}"))
        return Answers(answer for answer in answers if step in (None, answer.step))

    @property
    def successful(self) -> "Answers":
        """Those that are no refusals."""
        return Answers(answer for answer in self if answer.error is None)


class AnswerRecorder:
    """A caller of AWS that records the answers."""

    def __init__(self, session: boto3.Session) -> None:
        self.session, self.step = session, ""
        self._answers: list[Answer] = []
        self._clients: dict[str, Any] = {}

    @property
    def answers(self) -> Answers:
        """The recorded answers, in their order."""
        return Answers(self._answers)

    def client(self, service: str) -> Any:
        """Return a client whose answers are not kept."""
        if service not in self._clients:
            self._clients[service] = client(self.session, service)
        return self._clients[service]

    def pages(self, service: str, operation: str, **request: Any) -> Record:
        """Return an answer with all its pages, which is not kept. Raises `ClientError`."""
        aws, method = self.client(service), xform_name(operation)
        if aws.can_paginate(method):
            answer: Record = aws.get_paginator(method).paginate(**request).build_full_result()
        else:
            answer = getattr(aws, method)(**request)
        return answer

    def ask(self, name: str, /, **request: Any) -> Record:
        """Return the answer of an operation, such as `sagemaker:DescribeEndpoint`, and keep it.

        Raises `ClientError`, which is kept too.
        """
        service, _, operation = name.partition(":")
        try:
            answer = self.pages(service, operation, **request)
        except ClientError as error:
            if not NOT_EMULATED.search(str(error)):
                self.keep(name, request, error=dict(error.response["Error"]))
            raise
        self.keep(name, request, kept(operation, answer))
        return answer

    def keep(
        self,
        name: str,
        request: Record,
        response: Record | None = None,
        error: Record | None = None,
    ) -> None:
        """Keep an answer, unless the one before it to the same request was equal."""
        call = (self.step, name, request)
        result = (_without_none(response or {}), error)
        for before in reversed(self._answers):
            if (before.step, before.operation, before.request) == call:
                if (before.response, before.error) == result:
                    return
                break
        self._answers.append(Answer(self.step, datetime.now(UTC), *call[1:], *result))


@cache
def _members() -> dict[str, str]:
    return tomllib.loads(KEPT.read_text())


def kept(operation: str, answer: Record) -> Record:
    """Return the members of an answer that the report keeps; of most, nothing."""
    expression = _members().get(operation)
    members: Record = jmespath.search(expression, answer) if expression else {}
    return members


def _without_none(value: Any) -> Any:
    """Return a value without the members that an answer did not have."""
    if isinstance(value, dict):
        return {name: _without_none(item) for name, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, list) else value
