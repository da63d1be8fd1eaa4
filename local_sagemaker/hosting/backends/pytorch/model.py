"""A stand-in for Triton's C++ pytorch backend: the torch package on the CPU, with TorchScript.

Source of its rules: pytorch_backend r24.09, src/libtorch.cc and src/libtorch_utils.cc.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

if TYPE_CHECKING:
    from local_sagemaker.hosting.backends.stand_in import Array, Arrays, Inputs, StandIn
else:  # it is copied beside this file
    from stand_in import Array, Arrays, Inputs, StandIn

TYPES = {
    torch.bool: "TYPE_BOOL",
    torch.uint8: "TYPE_UINT8",
    torch.int8: "TYPE_INT8",
    torch.int16: "TYPE_INT16",
    torch.int32: "TYPE_INT32",
    torch.int64: "TYPE_INT64",
    torch.float16: "TYPE_FP16",
    torch.float32: "TYPE_FP32",
    torch.float64: "TYPE_FP64",
}
POSITION = re.compile(r".*?__([0-9]*)")
"""NAME__POSITION: the first double underscore is before the position (GetNamingConvention)."""


class TritonPythonModel(StandIn):
    file = "model.pt"
    datatypes = frozenset((*TYPES.values(), "TYPE_STRING"))

    def load(self, path: Path) -> None:
        loaded = torch.jit.load(path, map_location="cpu")  # type: ignore[no-untyped-call]
        self.module = loaded.eval()
        for kind in ("input", "output"):
            for tensor in self.config[kind]:
                self._check_strings(tensor, kind)
        arguments = [
            argument
            for argument in self.module.forward.schema.arguments
            if argument.type.kind() != "ClassType"  # self
        ]
        kinds = {argument.type.kind() for argument in arguments}
        self.takes_dict = len(arguments) == 1 and kinds == {"DictType"}
        if not self.takes_dict:
            if kinds - {"TensorType", "ListType"}:
                self.refuse(
                    f"only inputs of type Tensor are supported: {self.module.forward.schema}"
                )
            if len(arguments) != len(self.inputs):
                self.refuse(
                    f"configuration expects {len(self.inputs)} inputs, model provides "
                    f"{len(arguments)}"
                )
        names = [argument.name for argument in arguments]
        if set(self.inputs) <= set(names):
            self.input_order = [names.index(name) for name in self.inputs]
        else:
            self.input_order = _positions(self.inputs)
            if not self.takes_dict and sorted(self.input_order) != [*range(len(names))]:
                self.refuse(f"inputs {self.inputs} have positions {self.input_order}")
        self.output_positions = _positions(self.outputs)
        self.output_types = [tensor["data_type"] for tensor in self.config["output"]]

    def _check_strings(self, tensor: dict[str, Any], kind: str) -> None:
        """Refuse strings in more than one axis: they are lists."""
        dims = tensor.get("reshape", {}).get("shape", tensor["dims"])
        if tensor["data_type"] == "TYPE_STRING" and len(dims) + bool(self.max_batch_size) > 1:
            self.refuse(
                f"Triton only supports 1 dimensional List of String as {kind} for "
                f"'{tensor['name']}': with max_batch_size, write dims: [ 1 ] "
                "reshape { shape: [] }"
            )

    def run(self, inputs: Inputs) -> Arrays:
        values = [_to_torch(inputs[name]) for name in self.inputs]
        if self.takes_dict:
            arguments: list[Any] = [dict(zip(self.inputs, values, strict=True))]
        else:
            arguments = [None] * len(values)
            for position, value in zip(self.input_order, values, strict=True):
                arguments[position] = value
        with torch.inference_mode():
            result = self.module(*arguments)
        results = result if isinstance(result, tuple) else (result,)
        return [
            self._to_array(results, *output)
            for output in zip(self.outputs, self.output_positions, self.output_types, strict=True)
        ]

    def _to_array(self, results: tuple[Any, ...], name: str, position: int, datatype: str) -> Array:
        """Return an output. Raise `ValueError` where the C++ backend fails the request."""
        if position >= len(results):
            raise ValueError(
                f"The output {name} in the model configuration refers to an output index which "
                f"doesn't exist. This model has {len(results)} outputs"
            )
        value = results[position]
        if isinstance(value, list) and all(isinstance(element, str) for element in value):
            return np.array(value, object)
        if not isinstance(value, torch.Tensor):
            raise ValueError(f"output '{name}' must be of type Tensor or List[str]")  # noqa: TRY004
        provided = TYPES.get(value.dtype, str(value.dtype))
        if provided != datatype:
            raise ValueError(
                f"configuration expects datatype {datatype} for output '{name}', model provides "
                f"{provided}"
            )
        if not value.ndim:
            raise ValueError(f"output '{name}' is a scalar which is not supported.")
        # A returned parameter still requires gradients, also in inference mode.
        return value.detach().resolve_conj().resolve_neg().numpy()


def _positions(names: list[str]) -> list[int]:
    """Return the positions in the names, or the order of the names if not all have a position."""
    matches = [POSITION.fullmatch(name) for name in names]
    if not all(matches):
        return [*range(len(names))]
    return [int(match[1] or 0) for match in matches if match]


def _to_torch(array: Array) -> Any:
    if array.dtype == object:
        return array.tolist()  # bytes, of which torch makes its strings
    return torch.from_numpy(array)
