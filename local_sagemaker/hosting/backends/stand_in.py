"""Base class of the stand-ins for Triton's C++ backends; it is copied beside each stand-in.

A stand-in refuses at load what the C++ backend refuses and what it cannot do itself. Sources are
the repositories <name>_backend, backend and core of triton-inference-server, branches r24.09.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

Array = np.ndarray[Any, Any]
Arrays = Sequence[Array]
Inputs = Mapping[str, Array]

NUMBERS = frozenset(
    f"TYPE_{name}"
    for name in (
        *("BOOL", "FP16", "FP32", "FP64", "INT8", "INT16", "INT32", "INT64"),
        *("UINT8", "UINT16", "UINT32", "UINT64"),
    )
)
"""Triton's data types without strings and BF16, which numpy does not have."""


class StandIn(ABC):
    """A backend in Python. Subclasses define the model's `file`, `load` and `run`.

    `datatypes` are the data types of the C++ backend. `has_optional_inputs` and `has_ragged_inputs`
    are whether requests may omit optional inputs, and differ in shape within a batch. `run` maps
    arrays by input name to the outputs, in the order of config.pbtxt; strings are `bytes`.
    """

    file: str
    datatypes: frozenset[str]
    has_optional_inputs = False
    has_ragged_inputs = False

    @abstractmethod
    def load(self, path: Path) -> None: ...

    @abstractmethod
    def run(self, inputs: Inputs) -> Arrays: ...

    @staticmethod
    def auto_complete_config(config: Any) -> Any:
        return config

    def initialize(self, args: dict[str, str]) -> None:
        self.config = json.loads(args["model_config"])
        self.model = args["model_name"]
        self.max_batch_size: int = self.config["max_batch_size"]
        self._refuse_unsupported()
        controls = self.config.get("sequence_batching", {}).get("control_input", [])
        self.inputs = [tensor["name"] for tensor in (*self.config["input"], *controls)]
        self.outputs = [tensor["name"] for tensor in self.config["output"]]
        file = self.config.get("default_model_filename") or self.file
        self.load(Path(args["model_repository"], args["model_version"], file))

    def refuse(self, problem: str) -> None:
        """Fail the load of the model with `ValueError`."""
        raise ValueError(f"unable to load model '{self.model}', {problem}")

    def _refuse_unsupported(self) -> None:
        """Refuse data types of the C++ backend's refusals, and options that stand-ins ignore."""
        for kind in ("input", "output"):
            for tensor in self.config[kind]:
                name, datatype = tensor["name"], tensor["data_type"]
                if datatype not in self.datatypes:
                    self.refuse(f"unsupported datatype {datatype} for {kind} '{name}'")
                if tensor.get("optional") and not self.has_optional_inputs:
                    self.refuse(f"optional input '{name}' is not supported")
                if tensor.get("allow_ragged_batch") and not self.has_ragged_inputs:
                    self.refuse(f"the local backend has no allow_ragged_batch (input '{name}')")
        options = {name: self.config.get(name) for name in ("batch_input", "batch_output")}
        options["state"] = self.config.get("sequence_batching", {}).get("state")
        options["decoupled"] = self.config.get("model_transaction_policy", {}).get("decoupled")
        for name, value in options.items():
            if value:
                self.refuse(f"the local backend has no {name}")

    def execute(self, requests: list[Any]) -> list[Any]:
        """Run the requests as one batch if their shapes are equal, as the C++ backends do."""
        batches: dict[Any, list[int]] = {}
        inputs: list[Inputs] = []
        responses: list[Any] = [None] * len(requests)
        for index, request in enumerate(requests):
            try:
                inputs.append(self.read_inputs(request))
            except ValueError as error:
                inputs.append({})
                responses[index] = _error(error)
            else:
                key = _row_shapes(inputs[-1]) if self.max_batch_size else index
                batches.setdefault(key, []).append(index)
        for indices in batches.values():
            for index, response in zip(
                indices, self._run_batch([inputs[index] for index in indices]), strict=True
            ):
                responses[index] = response
        return responses

    def read_inputs(self, request: Any) -> Inputs:
        """Return the inputs of a request. Raise `ValueError` if the framework cannot take them."""
        tensors = {tensor.name(): tensor for tensor in request.inputs()}
        return {name: tensors[name].as_numpy() for name in self.inputs if name in tensors}

    def _run_batch(self, requests: list[Inputs]) -> list[Any]:
        """Run requests with rows of equal shapes together, and return their responses."""
        rows = [len(next(iter(each.values()))) if self.max_batch_size else 0 for each in requests]
        joined = requests[0]
        if len(requests) > 1:
            joined = {name: np.concatenate([each[name] for each in requests]) for name in joined}
        try:
            outputs = self.run(joined)
            if self.max_batch_size:
                self._check_rows(outputs, sum(rows))
        except Exception as error:  # of the framework, which fails the C++ backend's batch as well
            return [_error(error)] * len(requests)
        if not self.max_batch_size:
            return [self._respond(outputs)]
        ends = np.cumsum(rows)
        return [
            self._respond([output[end - count : end] for output in outputs])
            for count, end in zip(rows, ends, strict=True)
        ]

    def _check_rows(self, outputs: Arrays, rows: int) -> None:
        """Raise `ValueError` for too few rows; further rows are cut off.

        Source: BackendOutputResponder::ProcessTensor.
        """
        for name, output in zip(self.outputs, outputs, strict=True):
            if not output.ndim or len(output) < rows:
                raise ValueError(
                    f"failed to split the output tensor '{name}' in responses: expected batch size "
                    f"of at least {rows} in model output, got {len(output) if output.ndim else 0}"
                )

    def _respond(self, outputs: Arrays) -> Any:
        tensors = zip(self.outputs, outputs, strict=True)
        return pb_utils.InferenceResponse([pb_utils.Tensor(*tensor) for tensor in tensors])


def _error(error: Exception) -> Any:
    return pb_utils.InferenceResponse(error=pb_utils.TritonError(str(error)))


def _row_shapes(inputs: Inputs) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return the shapes of the inputs without the batch axis."""
    return tuple((name, array.shape[1:]) for name, array in inputs.items())
