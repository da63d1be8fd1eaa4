"""The calls that run an engine, held against the API of TensorRT 8.6, 10.16 and 11.4."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from syrupy.assertion import SnapshotAssertion

from model_build import BuildError, TorchModel
from model_build.export.tensorrt_runner import engine_runner
from tests.unit.model_build.export.tensorrt.recorded_api import VERSIONS, RecordedTensorRt

MODEL = TorchModel(
    module=torch.nn.Identity(),
    inputs={"x": torch.float32},
    outputs=("y",),
    axes={"x": {"batch": (1, 8)}},
    sample=lambda sizes, _: {"x": torch.zeros(sizes["batch"], 3)},
)


@pytest.fixture(autouse=True)
def cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """What of torch.cuda the runner uses, on the CPU."""
    stream = SimpleNamespace(cuda_stream=42, synchronize=lambda: None)
    monkeypatch.setattr(torch.cuda, "Stream", lambda: stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda _: nullcontext())
    monkeypatch.setattr(torch.Tensor, "cuda", lambda self: self)
    monkeypatch.setattr(torch.Tensor, "data_ptr", lambda _: 4096)
    empty = torch.empty
    monkeypatch.setattr(torch, "empty", lambda shape, dtype, **_: empty(shape, dtype=dtype))


def _module(version: str) -> RecordedTensorRt:
    trt = RecordedTensorRt(version)
    trt.answers |= {
        "ICudaEngine.num_optimization_profiles": 2,
        "ICudaEngine.get_tensor_profile_shape": lambda _, index: [
            [(1, 3), (2, 3), (4, 3)],
            [(5, 3), (6, 3), (8, 3)],
        ][index],
        "ICudaEngine.get_tensor_dtype": trt.DataType.FLOAT,
        "IExecutionContext.get_tensor_shape": (6, 5),
    }
    return trt


@pytest.mark.parametrize("version", VERSIONS)
def test_every_call_is_one_that_the_version_has(version: str, snapshot: SnapshotAssertion) -> None:
    trt = _module(version)
    (found,) = engine_runner(trt, b"plan", MODEL)({"x": torch.zeros(6, 3)})
    assert found.shape == (6, 5)
    assert found.dtype == np.float32
    assert trt.calls == snapshot


def test_the_first_profile_with_the_inputs_shapes_is_taken() -> None:
    trt = _module("10.16.1.11")
    run = engine_runner(trt, b"plan", MODEL)
    for batch in (4, 5):
        run({"x": torch.zeros(batch, 3)})
    chosen = [call for call in trt.calls if "set_optimization_profile_async" in call]
    assert chosen == [
        "IExecutionContext.set_optimization_profile_async(0, 42)",
        "IExecutionContext.set_optimization_profile_async(1, 42)",
    ]


def _outcome(trt: RecordedTensorRt) -> str:
    with pytest.raises(BuildError) as raised:
        engine_runner(trt, b"plan", MODEL)({"x": torch.zeros(6, 3)})
    return str(raised.value)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"Runtime.deserialize_cuda_engine": None}, "TensorRT cannot load the engine"),
        (
            {"ICudaEngine.num_optimization_profiles": 1},
            "no optimization profile has shapes [[6, 3]]",
        ),
        ({"IExecutionContext.set_input_shape": False}, 'the engine has no tensor "x"'),
        ({"IExecutionContext.execute_async_v3": False}, "TensorRT failed to run the engine"),
    ],
)
def test_what_an_engine_refuses_is_told(answers: dict[str, Any], message: str) -> None:
    trt = _module("11.4.0.106")
    trt.answers |= answers
    assert message in _outcome(trt)
