"""A `tensorrt` with the API of 10.16 that runs its plans with ONNX Runtime.

`__version__` is the TensorRT version of Triton 25.09, or the environment variable
STAND_IN_TENSORRT. ONNX files with the operator NonZero are rejected, like TensorRT rejects
operators without an importer.
"""

import ctypes
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import onnxruntime
from recorded_api import RecordedTensorRt

MARK = b"a stand-in's plan, which no TensorRT can load\n"

__version__ = os.environ.get("STAND_IN_TENSORRT", "10.13.3.9")

_api = RecordedTensorRt("10.16.1.11")
_api.__version__ = __version__
_network = b""
_profile: dict[str, Any] = {}
_profiles: list[dict[str, Any]] = []
_shapes: dict[str, tuple[int, ...]] = {}
_addresses: dict[str, int] = {}
_timings = [b""]
_plan: dict[str, Any] = {}
_executed: set[str] = set()
"""The tensors of the last execution: further ones, which are timed, change nothing."""


def __getattr__(name: str) -> Any:
    return getattr(_api, name)


def _parse(path: str) -> bool:
    global _network
    _network = Path(path).read_bytes()
    graph = onnx.load_model_from_string(_network).graph
    return all(node.op_type != "NonZero" for node in graph.node)


def _set_shape(name: str, *bounds: list[int]) -> None:
    _profile[name] = bounds


def _add_profile(_: Any) -> int:
    _profiles.append(dict(_profile))
    return len(_profiles) - 1


def _create_timing_cache(content: bytes) -> Any:
    _timings[:] = [content]
    return _api._make("ITimingCache")


def _build(*_: Any) -> bytes:
    level = _api.properties.get("IBuilderConfig.hardware_compatibility_level", 0)
    header = json.dumps({"level": int(level), "profiles": _profiles}).encode()
    return MARK + header + b"\n" + _network


def _deserialize(plan: bytes) -> Any:
    assert plan.startswith(MARK)
    header, _, network = plan.removeprefix(MARK).partition(b"\n")
    _plan.update(json.loads(header), network=network)
    _api.answers |= {
        "ICudaEngine.num_optimization_profiles": len(_plan["profiles"]),
        "ICudaEngine.hardware_compatibility_level": _plan["level"],
    }
    return _api._make("ICudaEngine")


def _session() -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(_plan["network"], providers=["CPUExecutionProvider"])


def _datatype(name: str) -> Any:
    session = _session()
    (result,) = [
        tensor for tensor in (*session.get_inputs(), *session.get_outputs()) if tensor.name == name
    ]
    names = {"float": "FLOAT", "float16": "HALF", "int32": "INT32", "int64": "INT64"}
    return getattr(_api.DataType, names[_type_name(result)])


def _type_name(tensor: Any) -> str:
    """Return X of ONNX Runtime's type `tensor(X)`."""
    return str(tensor.type).removeprefix("tensor(").removesuffix(")")


def _outputs() -> dict[str, Any]:
    session = _session()
    inputs = {}
    for tensor in session.get_inputs():
        name = _type_name(tensor)
        dtype = np.dtype("float32" if name == "float" else name)
        shape = _shapes[tensor.name]
        content = ctypes.string_at(_addresses[tensor.name], dtype.itemsize * int(np.prod(shape)))
        inputs[tensor.name] = np.frombuffer(content, dtype).reshape(shape)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def _set_input_shape(name: str, shape: tuple[int, ...]) -> bool:
    _shapes[name] = shape
    _executed.clear()
    return True


def _set_address(name: str, address: int) -> bool:
    _addresses[name] = address
    return True


def _execute(_: int) -> bool:
    if _executed:
        return True
    _executed.add("all")
    for name, array in _outputs().items():
        ctypes.memmove(_addresses[name], np.ascontiguousarray(array).tobytes(), array.nbytes)
    return True


# Results of methods and values of properties; functions are called in place of the method.
_api.answers |= {
    "OnnxParser.parse_from_file": _parse,
    "OnnxParser.num_errors": 1,
    "ParserError.node": 1,
    "ParserError.node_name": "the node",
    "ParserError.node_operator": "NonZero",
    "ParserError.local_function_stack": [],
    "ParserError.desc": "no importer for NonZero",
    "ParserError.code": "UNSUPPORTED_NODE",
    "ParserError.file": "a stand-in",
    "ParserError.line": 1,
    "IOptimizationProfile.set_shape": _set_shape,
    "IBuilderConfig.create_timing_cache": _create_timing_cache,
    "ITimingCache.serialize": lambda: _timings[0] + b"+",
    "IBuilderConfig.add_optimization_profile": _add_profile,
    "Builder.build_serialized_network": _build,
    "Runtime.deserialize_cuda_engine": _deserialize,
    "ICudaEngine.get_tensor_dtype": _datatype,
    "ICudaEngine.get_tensor_location": SimpleNamespace(name="DEVICE"),
    "ICudaEngine.get_tensor_profile_shape": lambda name, index: _plan["profiles"][index][name],
    "IExecutionContext.set_input_shape": _set_input_shape,
    "IExecutionContext.set_tensor_address": _set_address,
    "IExecutionContext.get_tensor_shape": lambda name: _outputs()[name].shape,
    "IExecutionContext.execute_async_v3": _execute,
}
