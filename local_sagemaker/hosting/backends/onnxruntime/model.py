"""A stand-in for Triton's C++ onnxruntime backend: the onnxruntime Python package on the CPU.

It checks config.pbtxt as the C++ backend does when it loads a model (onnxruntime_backend r24.09,
src/onnxruntime.cc: ValidateInputs, ValidateOutputs).
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime

if TYPE_CHECKING:
    from local_sagemaker.hosting.backends.stand_in import NUMBERS, Arrays, Inputs, StandIn
else:  # it is copied beside this file
    from stand_in import NUMBERS, Arrays, Inputs, StandIn

Tensor = dict[str, Any]
"""An input or output in config.pbtxt."""

TYPES = {
    "tensor(float16)": "TYPE_FP16",
    "tensor(float)": "TYPE_FP32",
    "tensor(double)": "TYPE_FP64",
    **{f"tensor({name[5:].lower()})": name for name in NUMBERS if "FP" not in name},
    "tensor(string)": "TYPE_STRING",
}
"""Triton's data types by ONNX Runtime's. BF16 came with Triton 26.03 (src/onnxruntime_utils.cc)."""


class TritonPythonModel(StandIn):
    file = "model.onnx"
    datatypes = frozenset(TYPES.values())
    has_optional_inputs = True

    def load(self, path: Path) -> None:
        if self.config.get("model_operations", {}).get("op_library_filename"):
            self.refuse("the local backend has no model_operations")
        self.session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        inputs = {node.name: node for node in self.session.get_inputs()}
        self._check_input_count(len(inputs))
        inputs |= {node.name: node for node in self.session.get_overridable_initializers()}
        outputs = {node.name: node for node in self.session.get_outputs()}
        for kind, nodes in (("input", inputs), ("output", outputs)):
            for node in nodes.values():
                if not node.type.startswith("tensor("):
                    self.refuse(
                        f"unsupported ONNX type {node.type} of {kind} '{node.name}': only tensors "
                        "are supported, also for outputs that config.pbtxt omits"
                    )
            for tensor in self.config[kind]:
                self._check_tensor(tensor, nodes, kind)
        self.scalars = {name for name, node in inputs.items() if not node.shape}
        self.output_shapes = [_shape(tensor) for tensor in self.config["output"]]

    def _check_input_count(self, provided: int) -> None:
        optional = [tensor for tensor in self.config["input"] if tensor.get("optional")]
        if optional and self.max_batch_size:
            self.refuse(
                f"optional input '{optional[0]['name']}' is not supported for models that support "
                "batching"
            )
        expected = len(self.inputs) - len(optional)
        if expected != provided:
            self.refuse(f"configuration expects {expected} inputs, model provides {provided}")

    def _check_tensor(self, tensor: Tensor, nodes: dict[str, Any], kind: str) -> None:
        name, datatype = tensor["name"], tensor["data_type"]
        if name not in nodes:
            self.refuse(f"unexpected inference {kind} '{name}', allowed are: {', '.join(nodes)}")
        node, dims = nodes[name], _shape(tensor)
        if TYPES.get(node.type) != datatype:
            provided = TYPES.get(node.type, node.type)
            self.refuse(
                f"configuration expects datatype {datatype} for {kind} '{name}', model provides "
                f"{provided}"
            )
        sizes = [size if isinstance(size, int) else -1 for size in node.shape]
        if not sizes:  # a scalar
            if any(size != 1 for size in dims):
                self.refuse(f"scalar tensor '{name}' should only have dims of 1, not {dims}")
            return
        if self.max_batch_size:
            dims = [-1, *dims]
            if sizes[0] != -1:
                self.refuse(f"tensor '{name}': the first dimension must be -1, but it is {sizes}")
        ignored = -1 if kind == "input" else None
        if len(sizes) != len(dims) or any(
            size not in (ignored, declared) for size, declared in zip(sizes, dims, strict=True)
        ):
            self.refuse(
                f"tensor '{name}': the model expects shape {sizes}, but the model configuration "
                f"specifies {dims}"
            )

    def read_inputs(self, request: Any) -> Inputs:
        inputs = dict(super().read_inputs(request))
        for name, array in inputs.items():
            if array.dtype == object:
                inputs[name] = _to_text(name, array)
            elif name in self.scalars and not self.max_batch_size:
                inputs[name] = array.reshape(())
        return inputs

    def run(self, inputs: Inputs) -> Arrays:
        outputs = self.session.run(self.outputs, inputs)
        return [
            output if output.ndim else output.reshape(shape)
            for output, shape in zip(map(np.asarray, outputs), self.output_shapes, strict=True)
        ]


def _shape(tensor: Tensor) -> list[int]:
    return [int(size) for size in tensor.get("reshape", {}).get("shape", tensor["dims"])]


def _to_text(name: str, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return texts up to their first NUL, which ends them in the C++ backend.

    Source: SetStringInputBuffer, FillStringTensor. The C++ backend takes any bytes, but ONNX
    Runtime's Python package only UTF-8. Raise `ValueError`.
    """
    texts = np.empty(array.shape, object)
    for index, element in enumerate(array.flat):
        try:
            texts.flat[index] = element.partition(b"\0")[0].decode()
        except UnicodeDecodeError:
            raise ValueError(
                f"input '{name}' is not UTF-8: {element!r}, and ONNX Runtime's Python package, "
                "which serves locally, takes nothing else: send UTF-8"
            ) from None
    return texts
