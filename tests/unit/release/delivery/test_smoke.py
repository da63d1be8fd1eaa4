"""Tests of the smoke test, with fake endpoint clients."""

import json
import math
import threading
from pathlib import Path
from typing import Any, cast

import boto3
import numpy as np
import pytest
from botocore.exceptions import ClientError

from endpoint_client import EndpointError
from release.delivery import golden, smoke
from release.delivery.errors import Unfinished
from release.delivery.golden import Golden

ENDPOINTS = {"text": {"a": "1"}, "vision": {"a": "1"}}
INPUTS = {"X": {"datatype": "FP32", "shape": [1, 1], "data": [7]}}


class FakeClient:
    """A client of two endpoints whose invocations wait for each other, and fail."""

    def __init__(self, error: Exception) -> None:
        self._barrier, self._error = threading.Barrier(2), error

    def invoke(self, *_: Any, **__: Any) -> dict[str, Any]:
        self._barrier.wait()
        raise self._error


def wrong_answers(
    monkeypatch: pytest.MonkeyPatch, error: Exception, *, deadline: float = math.inf
) -> list[str]:
    client = FakeClient(error)
    monkeypatch.setattr(smoke, "_client", lambda *_: client)
    monkeypatch.setattr(golden, "golden_path", lambda _, model: Path(model))
    outputs = {"Y": {"shape": [1, 1], "data": [7]}}
    expected = Golden.model_validate({"inputs": INPUTS, "outputs": outputs})
    monkeypatch.setattr(Golden, "read", lambda _: expected)
    session = cast(boto3.Session, None)
    answers = smoke.invoke_all(session, "prod", ENDPOINTS, Path("models"), deadline=deadline)
    return answers.wrong


def test_endpoints_are_invoked_in_parallel_and_reported_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert wrong_answers(monkeypatch, EndpointError("no")) == [
        "prod-text/a 1: no",
        "prod-vision/a 1: no",
    ]


def test_components_are_invoked_in_parallel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each may take 10 minutes to scale up; all models have half an hour together."""
    barrier, client = threading.Barrier(2, timeout=60), Echo()

    def invoke(*_: Any, **__: Any) -> dict[str, Any]:
        barrier.wait()
        return {"Y": np.zeros(1)}

    monkeypatch.setattr(client, "invoke", invoke)
    monkeypatch.setattr(smoke, "_client", lambda *_: client)
    monkeypatch.setattr(golden, "golden_path", lambda _, model: Path(model))
    monkeypatch.setattr(Golden, "read", lambda _: Golden.model_validate({"inputs": INPUTS}))
    session, endpoints = cast(boto3.Session, None), {"night": {"a": "1", "b": "1"}}
    answers = smoke.invoke_all(
        session, "prod", endpoints, Path("models"), components={"night"}, deadline=math.inf
    )
    assert answers == ([], [])


@pytest.mark.parametrize(
    "code", ["ExpiredTokenException", "AccessDeniedException", "ThrottlingException"]
)
def test_error_about_the_caller_is_no_wrong_answer(
    code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: Any = {"Error": {"Code": code, "Message": "refused"}}
    error = EndpointError("a 1: refused")
    error.__cause__ = ClientError(refused, "InvokeEndpoint")
    with pytest.raises(EndpointError, match="refused"):
        wrong_answers(monkeypatch, error)


def test_model_after_the_deadline_is_unfinished(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(Unfinished, match="everything is deployed, but prod-text/a was not invoked"):
        wrong_answers(monkeypatch, EndpointError("no"), deadline=0)


class Echo:
    """A client that fails for the models in `fails`."""

    def __init__(self, *fails: str) -> None:
        self._fails = fails
        self.invoked: list[str] = []

    def invoke(self, model: str, _: Any, *, timeout: float) -> dict[str, Any]:
        self.invoked.append(model)
        assert timeout > smoke.ANSWER_SECONDS
        if model in self._fails:
            raise EndpointError("failed to load")
        return {"Y": np.zeros(1)}


def test_models_without_a_file_or_without_outputs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for model in ("answers", "broken"):
        (tmp_path / model / "tests").mkdir(parents=True)
        (tmp_path / model / golden.FILE).write_text(json.dumps({"inputs": {"X": INPUTS["X"]}}))
    client, models = Echo("broken"), {"answers": "1", "broken": "2", "unknown": "3"}
    monkeypatch.setattr(smoke, "_client", lambda *_: client)
    session = cast(boto3.Session, None)
    answers = smoke.invoke_all(session, "prod", {"text": models}, tmp_path, deadline=math.inf)
    assert answers.not_invoked == ["prod-text/unknown"]
    assert answers.wrong == ["prod-text/broken 2: failed to load"]
    assert client.invoked == ["answers", "broken"]
    assert "! the answer of prod-text/answers is not compared" in capsys.readouterr().out
