"""The smoke test, with stand-ins for the endpoints' clients."""

import math
import threading
from pathlib import Path
from typing import Any, cast

import boto3
import pytest
from botocore.exceptions import ClientError

from endpoint_client import EndpointError
from release.delivery import golden, smoke
from release.delivery.assembly import StackEndpoint
from release.delivery.errors import Unfinished
from release.delivery.golden import Golden

TEXT = StackEndpoint(name="prod-text", short_name="text", stack="prod-text", config="Config")
VISION = StackEndpoint(name="prod-vision", short_name="vision", stack="prod-vision", config="It")
DECLARED = {"text": {"a": "1"}, "vision": {"a": "1"}}
GIVEN = {"X": {"datatype": "FP32", "shape": [1, 1], "data": [7]}}


class FakeClient:
    """One model of each of two endpoints, which answer only when both have been asked."""

    def __init__(self, both: threading.Barrier, error: Exception) -> None:
        self._both, self._error = both, error

    def invoke(self, *_: Any) -> dict[str, Any]:
        self._both.wait()
        raise self._error


def asked(
    monkeypatch: pytest.MonkeyPatch, error: Exception, *, deadline: float = math.inf
) -> list[str]:
    client = FakeClient(threading.Barrier(2), error)
    monkeypatch.setattr(smoke, "_clients", lambda *_: [(TEXT, client), (VISION, client)])
    monkeypatch.setattr(golden, "path_of", lambda _, model: Path(model))
    outputs = {"Y": {"shape": [1, 1], "data": [7]}}
    expected = Golden.model_validate({"inputs": GIVEN, "outputs": outputs})
    monkeypatch.setattr(Golden, "read", lambda _: expected)
    session = cast(boto3.Session, None)
    return smoke.wrong_answers(
        session, "prod", [], Path("models"), declared=DECLARED, deadline=deadline
    )


def test_endpoints_are_asked_side_by_side_and_told_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert asked(monkeypatch, EndpointError("no")) == ["prod-text/a 1: no", "prod-vision/a 1: no"]


def test_what_expired_credentials_refuse_is_no_wrong_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refused: Any = {"Error": {"Code": "ExpiredTokenException", "Message": "expired"}}
    error = EndpointError("a 1: expired")
    error.__cause__ = ClientError(refused, "InvokeEndpoint")
    with pytest.raises(EndpointError, match="expired"):
        asked(monkeypatch, error)


def test_a_model_that_is_not_asked_in_time_is_not_known_to_be_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(Unfinished, match="everything is deployed, and prod-text/a not asked yet"):
        asked(monkeypatch, EndpointError("no"), deadline=0)
