"""Execution of engines, with recorded APIs of TensorRT 10.16 and 11.4."""

import ctypes
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from model_build.gpu_step.driver import Driver
from model_build.gpu_step.errors import StepError
from model_build.gpu_step.files import RawTensor, sha256
from model_build.gpu_step.logger import TensorRtLog
from model_build.gpu_step.runner import TIMED_RUNS, EngineRunner
from tests.gpu_stand_in.driver_stand_in import DriverStandIn
from tests.gpu_stand_in.recorded_api import VERSIONS, RecordedTensorRt


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> DriverStandIn:
    """CUDA driver library of a machine with a GPU."""
    library = DriverStandIn()
    monkeypatch.delenv("CUDA_VERSION", raising=False)
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    return library


def _doubling_engine(version: str) -> RecordedTensorRt:
    """Return a TensorRT whose engine returns twice its input x, [batch, 3], as y."""
    trt = RecordedTensorRt(version)
    values: dict[str, Any] = {}

    def store(name: str, value: Any) -> bool:
        values[name] = value
        return True

    def run(_: int) -> bool:
        content = ctypes.string_at(values["x"], values["shape"][0] * 12)
        doubled = 2 * np.frombuffer(content, "float32")
        ctypes.memmove(values["y"], doubled.tobytes(), doubled.nbytes)
        return True

    trt.answers |= {
        "ICudaEngine.num_optimization_profiles": 2,
        "ICudaEngine.get_tensor_profile_shape": lambda _, index: [
            [(1, 3), (2, 3), (4, 3)],
            [(5, 3), (6, 3), (8, 3)],
        ][index],
        "ICudaEngine.get_tensor_dtype": trt.DataType.FLOAT,
        "ICudaEngine.get_tensor_location": SimpleNamespace(name="DEVICE"),
        "IExecutionContext.set_input_shape": lambda _, shape: store("shape", shape),
        "IExecutionContext.set_tensor_address": lambda name, address: store(name, address),
        "IExecutionContext.get_tensor_shape": lambda _: values["shape"],
        "IExecutionContext.execute_async_v3": run,
    }
    return trt


def _run(trt: RecordedTensorRt, folder: Path, *, batch: int = 6, dtype: str = "float32") -> Any:
    array = np.arange(batch * 3, dtype=dtype).reshape(batch, 3)
    (folder / "input.bin").write_bytes(array.tobytes())
    tensor = RawTensor("x", dtype, [batch, 3], "input.bin", sha256(folder / "input.bin"))
    runner = EngineRunner(trt, trt._make("ICudaEngine"), Driver(), TensorRtLog(trt, print))
    return runner.run([tensor], ["y"], input_folder=folder, to=folder, prefix="output-0")


@pytest.mark.parametrize("version", VERSIONS)
def test_calls_exist_in_the_api_version(
    version: str, library: DriverStandIn, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    trt = _doubling_engine(version)
    (y,), latency_ms = _run(trt, tmp_path)
    assert latency_ms > 0
    assert (y.name, y.datatype, y.shape, y.file) == ("y", "float32", [6, 3], "output-0-0.bin")
    content = (tmp_path / y.file).read_bytes()
    assert np.frombuffer(content, "float32").tolist() == [2.0 * number for number in range(18)]
    assert y.sha256 == sha256(tmp_path / y.file)
    assert library.memory == {}
    assert trt.calls.count("IExecutionContext.execute_async_v3(0)") == 1 + TIMED_RUNS
    calls = [call for call, _ in groupby(trt.calls)]
    assert [call for call in calls if "address" not in call] == snapshot


def test_first_profile_for_the_input_shapes_is_used(library: DriverStandIn, tmp_path: Path) -> None:
    trt = _doubling_engine("10.16.1.11")
    for batch in (4, 5):
        _run(trt, tmp_path, batch=batch)
    profile_calls = [call for call in trt.calls if "set_optimization_profile_async" in call]
    assert profile_calls == [
        "IExecutionContext.set_optimization_profile_async(0, 0)",
        "IExecutionContext.set_optimization_profile_async(1, 0)",
    ]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"ICudaEngine.num_optimization_profiles": 1},
         "no optimization profile has shapes [[6, 3]]"),
        ({"IExecutionContext.set_input_shape": False}, 'the engine has no tensor "x"'),
        ({"IExecutionContext.set_tensor_address": False}, 'the engine has no tensor "x"'),
        ({"IExecutionContext.execute_async_v3": False}, "TensorRT failed to run the engine (it"),
        ({"IExecutionContext.set_optimization_profile_async": False},
         "TensorRT refuses optimization profile 1 (it logged no error)"),
        ({"ICudaEngine.create_execution_context": None}, "has no memory to run the engine"),
        ({"ICudaEngine.get_tensor_location": SimpleNamespace(name="HOST")},
         'the tensor "x" determines a shape: export the model'),
        ({"IExecutionContext.get_tensor_shape": (-1, 3)}, "depends on the data: export the model"),
    ],
)  # fmt: skip
def test_failure_is_reported_and_frees_memory(
    answers: dict[str, Any], message: str, library: DriverStandIn, tmp_path: Path
) -> None:
    trt = _doubling_engine("11.4.0.106")
    trt.answers |= answers
    with pytest.raises(StepError) as error:
        _run(trt, tmp_path)
    assert message in str(error.value)
    assert library.memory == {}
