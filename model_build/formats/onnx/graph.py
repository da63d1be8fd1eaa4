"""Reader of the inputs, outputs and versions of an ONNX file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model_build.file_tensors import FileTensor

_TYPES = {
    "FLOAT": "TYPE_FP32",
    "FLOAT16": "TYPE_FP16",
    "BFLOAT16": "TYPE_BF16",
    "DOUBLE": "TYPE_FP64",
    "STRING": "TYPE_STRING",
    "BOOL": "TYPE_BOOL",
    **{
        f"{sign}INT{bits}": f"TYPE_{sign}INT{bits}"
        for sign in ("", "U")
        for bits in (8, 16, 32, 64)
    },
}
"""Triton's data types by ONNX's element types."""


@dataclass(frozen=True)
class Graph:
    """An ONNX file's interface: `opset` of ONNX's operators, and IR version `ir`.

    Inputs with a value in the file are optional.
    """

    inputs: list[FileTensor]
    outputs: list[FileTensor]
    opset: int
    ir: int


def read_graph(path: Path) -> Graph | None:
    """Return the interface of an ONNX file, or None if it is not an ONNX file."""
    import onnx
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load(path, format="protobuf", load_external_data=False)
    except DecodeError:
        return None
    opsets = [opset.version for opset in model.opset_import if opset.domain in ("", "ai.onnx")]
    tensors = [*model.graph.input, *model.graph.output]
    if (
        not opsets
        or not model.graph.output
        or any(isinstance(tensor.name, bytes) for tensor in tensors)
    ):
        return None  # protobuf returns names that are not UTF-8 as bytes
    constants = {constant.name for constant in model.graph.initializer}
    return Graph(
        inputs=[_tensor(tensor, constants) for tensor in model.graph.input],
        outputs=[_tensor(tensor, set()) for tensor in model.graph.output],
        opset=max(opsets),
        ir=model.ir_version,
    )


def _tensor(value: Any, constants: set[str]) -> FileTensor:
    import onnx

    tensor = value.type.tensor_type
    types = onnx.TensorProto.DataType
    number = tensor.elem_type
    name = types.Name(number) if number in types.values() else f"of type {number}"
    dims, first_axis = None, ""
    if tensor.HasField("shape"):
        dims = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in tensor.shape.dim]
        first_axis = next((dim.dim_param for dim in tensor.shape.dim), "")
    optional = value.name in constants
    return FileTensor(value.name, _TYPES.get(name, name), dims, optional, first_axis)
