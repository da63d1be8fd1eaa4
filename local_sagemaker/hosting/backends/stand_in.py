"""Base class of the stand-ins for Triton's C++ backends; it is copied beside each stand-in."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

Arrays = Sequence[np.ndarray[Any, Any]]


class StandIn(ABC):
    """A backend in Python. Subclasses define the model's `file`, `load` and `run`.

    `run` maps input arrays to output arrays, both in the order of config.pbtxt.
    """

    file: str

    @abstractmethod
    def load(self, path: Path) -> None: ...

    @abstractmethod
    def run(self, arrays: Arrays) -> Arrays: ...

    @staticmethod
    def auto_complete_config(config: Any) -> Any:
        return config

    def initialize(self, args: dict[str, str]) -> None:
        config = json.loads(args["model_config"])
        file = config.get("default_model_filename") or self.file
        self.inputs = [tensor["name"] for tensor in config["input"]]
        self.outputs = [tensor["name"] for tensor in config["output"]]
        self.max_batch_size = config["max_batch_size"]
        self.load(Path(args["model_repository"], args["model_version"], file))

    def execute(self, requests: list[Any]) -> list[Any]:
        """Run the requests as one batch if their shapes are equal, as the C++ backends do."""
        inputs = [self.input_arrays(request) for request in requests]
        if not self.max_batch_size or len({_shape(arrays) for arrays in inputs}) > 1:
            return [self.run_one(arrays) for arrays in inputs]
        ends = np.cumsum([len(arrays[0]) for arrays in inputs])[:-1]
        outputs = self.run([np.concatenate(column) for column in zip(*inputs, strict=True)])
        responses = zip(*(np.split(output, ends) for output in outputs), strict=True)
        return [self.make_response(arrays) for arrays in responses]

    def input_arrays(self, request: Any) -> Arrays:
        return [pb_utils.get_input_tensor_by_name(request, name).as_numpy() for name in self.inputs]

    def run_one(self, arrays: Arrays) -> Any:
        return self.make_response(self.run(arrays))

    def make_response(self, arrays: Arrays) -> Any:
        tensors = zip(self.outputs, arrays, strict=True)
        return pb_utils.InferenceResponse([pb_utils.Tensor(*tensor) for tensor in tensors])


def _shape(arrays: Arrays) -> tuple[tuple[int, ...], ...]:
    """Return the shapes without the batch axis."""
    return tuple(array.shape[1:] for array in arrays)
