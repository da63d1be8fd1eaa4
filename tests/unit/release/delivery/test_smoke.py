"""The smoke test, with stand-ins for the endpoints' clients."""

import threading
from pathlib import Path
from typing import Any, cast

import boto3
import pytest
from botocore.exceptions import ClientError

from endpoint_client import EndpointError
from release.delivery import golden, smoke
from release.delivery.assembly import StackEndpoint
from release.delivery.golden import Golden

TEXT = StackEndpoint(name="prod-text", short_name="text", stack="prod-text", config="Config")
GIVEN = {"X": {"datatype": "FP32", "shape": [1, 1], "data": [7]}}


class FakeClient:
    """Two models, which answer only when both have been asked."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error, self._both = error, threading.Barrier(2)

    def models(self) -> list[str]:
        return ["a", "b"]

    def resolve(self, _: str) -> Any:
        return type("Entry", (), {"version": "1"})

    def invoke(self, *_: Any) -> dict[str, Any]:
        self._both.wait()
        raise self._error or EndpointError("no")


def asked(monkeypatch: pytest.MonkeyPatch, client: FakeClient) -> list[str]:
    monkeypatch.setattr(smoke, "_clients", lambda *_: [(TEXT, client)])
    monkeypatch.setattr(golden, "path_of", lambda _, model: Path(model))
    expected = Golden.model_validate(
        {"inputs": GIVEN, "outputs": {"Y": {"shape": [1, 1], "data": [7]}}}
    )
    monkeypatch.setattr(Golden, "read", lambda _: expected)
    return smoke.wrong_answers(cast(boto3.Session, None), "prod", [TEXT], Path("models"))


def test_models_are_asked_side_by_side_and_told_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, FakeClient()) == ["prod-text/a 1: no", "prod-text/b 1: no"]


def test_what_expired_credentials_refuse_is_no_wrong_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refused: Any = {"Error": {"Code": "ExpiredTokenException", "Message": "expired"}}
    error = EndpointError("a 1: expired")
    error.__cause__ = ClientError(refused, "InvokeEndpoint")
    with pytest.raises(EndpointError, match="expired"):
        asked(monkeypatch, FakeClient(error))
