"""Tests of the smoke test, with fake endpoint clients."""

import json
import math
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, cast

import boto3
import numpy as np
import pytest
from botocore.exceptions import ClientError

from delivery import smoke
from delivery.errors import Unfinished
from delivery.smoke import SmokeTestResult
from endpoint_client import EndpointError, NoCopies
from plan import golden

INPUTS = {"X": {"datatype": "FP32", "shape": [1, 1], "data": [7]}}
OUTPUTS = {"Y": {"shape": [1, 1], "data": [7]}}


class FakeClient:
    """A client of all endpoints: models in `errors` fail, others answer with zeros.

    With `barrier`, each call waits for another call at the same time.
    """

    def __init__(self, barrier: threading.Barrier | None = None, **errors: Exception) -> None:
        self._errors, self._barrier = errors, barrier
        self.invoked: list[str] = []

    def resolve(self, model: str) -> Any:
        return SimpleNamespace(inference_component=f"night-{model}")

    def invoke(self, model: str, _: Any, *, timeout: float) -> dict[str, Any]:
        assert timeout > smoke.ANSWER_SECONDS
        self.invoked.append(model)
        if self._barrier:
            self._barrier.wait()
        if model in self._errors:
            raise self._errors[model]
        return {"Y": np.zeros(1)}


def invoke_all(client: FakeClient, **options: Any) -> SmokeTestResult:
    """Call `smoke.invoke_all` with golden files of a, with outputs, and of b, without."""
    with TemporaryDirectory() as models, pytest.MonkeyPatch.context() as patch:
        patch.setattr(smoke, "_client", lambda *_, **__: client)
        for model, outputs in {"a": OUTPUTS, "b": {}}.items():
            path = Path(models, model, golden.FILE)
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps({"inputs": INPUTS, "outputs": outputs}))
        session = cast(boto3.Session, SimpleNamespace(client=lambda _: None))
        defaults = {"session": session, "stage": "prod", "deadline": math.inf}
        return smoke.invoke_all(**{**defaults, **options}, models=Path(models))


def test_components_are_invoked_in_parallel() -> None:
    """Each may take 10 minutes to scale up; all models have half an hour together."""
    client = FakeClient(threading.Barrier(2, timeout=60), a=EndpointError("no"))
    endpoints = {"night": {"a": "1", "b": "1"}}
    result = invoke_all(client, endpoints=endpoints, component_endpoints={"night"})
    assert result == (["prod-night/a 1: no"], [])


@pytest.mark.parametrize(
    "code", ["ExpiredTokenException", "AccessDeniedException", "ThrottlingException"]
)
def test_error_about_the_caller_is_no_wrong_answer(code: str) -> None:
    error = EndpointError("a 1: refused")
    error.__cause__ = ClientError({"Error": {"Code": code, "Message": ""}}, "InvokeEndpoint")
    with pytest.raises(EndpointError, match="refused"):
        invoke_all(FakeClient(a=error), endpoints={"text": {"a": "1"}})


def test_model_after_the_deadline_is_unfinished() -> None:
    with pytest.raises(Unfinished, match="everything is deployed, but prod-text/a was not invoked"):
        invoke_all(FakeClient(), endpoints={"text": {"a": "1"}}, deadline=0)


def test_golden_file_decides_whether_a_model_is_invoked_and_compared(
    capsys: pytest.CaptureFixture[str],
) -> None:
    client = FakeClient()
    result = invoke_all(client, endpoints={"text": {"a": "1", "b": "2", "no_file": "3"}})
    assert client.invoked == ["a", "b"]
    assert result.uninvoked_models == ["prod-text/no_file"]
    assert result.wrong_answers == ["prod-text/a 1: Y: expected shape [1, 1], got [1]"]
    assert "! the answer of prod-text/b is not compared" in capsys.readouterr().out


def test_component_that_loses_its_copies_twice_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call finds no copy although copies were started, as on a flapping component."""
    client = FakeClient(a=NoCopies("no copy"))
    counts = iter([0, 0, 1, 1, 0, 1, 0])

    def describe(*, InferenceComponentName: str) -> Any:  # noqa: N803
        assert InferenceComponentName == "night-a"
        return {"RuntimeConfig": {"CurrentCopyCount": next(counts)}}

    sagemaker = SimpleNamespace(describe_inference_component=describe)
    monkeypatch.setattr(smoke, "WAKE_PAUSE_SECONDS", 0)
    result = invoke_all(
        client,
        endpoints={"night": {"a": "1"}},
        component_endpoints={"night"},
        session=SimpleNamespace(client=lambda _: sagemaker),
    )
    (message,) = result.wrong_answers
    assert "night-a started copies and lost them 2 times" in message
    assert client.invoked == 7 * ["a"]


def test_component_may_take_the_given_time_to_scale_up() -> None:
    client = FakeClient(a=NoCopies("no copy"))
    options = {"endpoints": {"night": {"a": "1"}}, "component_endpoints": {"night"}}
    assert invoke_all(client, **options, wake_seconds=0).wrong_answers == [
        "prod-night/a 1: no copy"
    ]
    assert client.invoked == ["a"]


def test_stand_ins_of_the_local_sagemaker_are_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "config.pbtxt").write_text('platform: "onnxruntime_onnx"\n')
    monkeypatch.setenv("TRITON_STAND_INS", json.dumps({"onnxruntime": "onnxruntime 1.31.1"}))
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    assert smoke.local_stand_ins(tmp_path) is None
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    recorded = golden.Golden(inputs={}).with_outputs({}, smoke.local_stand_ins(tmp_path))
    assert '"recorded_with": "local SageMaker: onnxruntime 1.31.1"' in recorded.to_json()
    assert golden.Golden.model_validate_json(recorded.to_json()) == recorded
    (tmp_path / "m" / "config.pbtxt").write_text('backend: "python"\n')
    assert smoke.local_stand_ins(tmp_path) is None
