"""Execution of TensorRT engines on tensors in files, for versions 10 and 11."""

import hashlib
import time
from math import prod
from pathlib import Path
from statistics import median
from typing import Any

from .driver import Driver
from .errors import StepError
from .files import DATATYPES, RawTensor
from .logger import TensorRtLog

TIMED_RUNS = 20
_DATATYPES = {
    "FLOAT": "float32",
    "HALF": "float16",
    "INT64": "int64",
    "INT32": "int32",
    "INT8": "int8",
    "UINT8": "uint8",
    "BOOL": "bool",
}
"""numpy's names of data types by TensorRT's names."""


class EngineRunner:
    """Runner of one engine; `trt` is the module `tensorrt`."""

    def __init__(self, trt: Any, engine: Any, driver: Driver, log: TensorRtLog) -> None:
        self._engine, self._driver, self._log = engine, driver, log
        self._context = engine.create_execution_context()
        if self._context is None:
            raise StepError(
                f"TensorRT has no memory to run the engine{log.reason()}. Write smaller max shapes "
                "into the recipe's profiles"
            )
        # The available types depend on TensorRT's version.
        self._datatypes = {
            getattr(trt.DataType, trt_name): numpy_name
            for trt_name, numpy_name in _DATATYPES.items()
            if hasattr(trt.DataType, trt_name)
        }

    def run(
        self,
        case: list[RawTensor],
        outputs: list[str],
        *,
        input_folder: Path,
        to: Path,
        prefix: str,
    ) -> tuple[list[RawTensor], float]:
        """Run the engine on files of `input_folder`; write its outputs to `to` as PREFIX-N.bin.

        Return the outputs, and the median time of `TIMED_RUNS` further runs in ms, without copies
        between host and GPU. Raise `StepError` if the engine does not accept the
        inputs or does not have the outputs.
        """
        self._choose_profile(case)
        allocated: list[int] = []
        try:
            for tensor in case:
                self._bind_input(tensor, (input_folder / tensor.file).read_bytes(), allocated)
            bound = [(name, *self._bind_output(name, allocated)) for name in outputs]
            self._execute()
            saved = [
                self._save_output(name, shape, address, to / f"{prefix}-{index}.bin")
                for index, (name, shape, address) in enumerate(bound)
            ]
            return saved, 1000 * median(self._execute() for _ in range(TIMED_RUNS))
        finally:
            for address in allocated:
                self._driver.free(address)

    def _execute(self) -> float:
        """Run the engine on the bound tensors; return the seconds until the GPU has finished."""
        started = time.perf_counter()
        if not self._context.execute_async_v3(0):
            raise StepError(f"TensorRT failed to run the engine{self._log.reason()}")
        self._driver.wait()
        return time.perf_counter() - started

    def _choose_profile(self, case: list[RawTensor]) -> None:
        """Select the first optimization profile that includes the inputs' shapes."""
        for index in range(self._engine.num_optimization_profiles):
            if all(
                low <= size <= high
                for tensor in case
                for smallest, _, largest in [
                    self._engine.get_tensor_profile_shape(tensor.name, index)
                ]
                for low, size, high in zip(smallest, tensor.shape, largest, strict=False)
            ):
                if not self._context.set_optimization_profile_async(index, 0):
                    raise StepError(
                        f"TensorRT refuses optimization profile {index}{self._log.reason()}"
                    )
                return
        raise StepError(f"no optimization profile has shapes {[tensor.shape for tensor in case]}")

    def _bind_input(self, tensor: RawTensor, content: bytes, allocated: list[int]) -> None:
        datatype = self._datatype(tensor.name)
        if datatype != tensor.datatype:
            raise StepError(
                f'the engine takes "{tensor.name}" as {datatype}, the model gives '
                f"{tensor.datatype}: export it with {datatype} inputs"
            )
        address = self._driver.allocate(len(content))
        allocated.append(address)
        self._driver.write(address, content)
        _check_accepted(
            self._context.set_input_shape(tensor.name, tuple(tensor.shape)), tensor.name
        )
        _check_accepted(self._context.set_tensor_address(tensor.name, address), tensor.name)

    def _bind_output(self, name: str, allocated: list[int]) -> tuple[list[int], int]:
        """Allocate memory for an output; return its shape and address."""
        shape = [int(size) for size in self._context.get_tensor_shape(name)]
        if any(size < 0 for size in shape):
            raise StepError(
                f'the shape of the output "{name}", {shape}, depends on the data: export the model '
                "with outputs whose shapes follow from its inputs'"
            )
        address = self._driver.allocate(self._byte_size(name, shape))
        allocated.append(address)
        _check_accepted(self._context.set_tensor_address(name, address), name)
        return shape, address

    def _save_output(self, name: str, shape: list[int], address: int, path: Path) -> RawTensor:
        content = self._driver.read(address, self._byte_size(name, shape))
        path.write_bytes(content)
        return RawTensor(
            name, self._datatype(name), shape, path.name, hashlib.sha256(content).hexdigest()
        )

    def _byte_size(self, name: str, shape: list[int]) -> int:
        return prod(shape) * DATATYPES[self._datatype(name)]

    def _datatype(self, name: str) -> str:
        """Return the data type of a tensor. Raise `StepError` unless it is in GPU memory.

        Tensors that determine shapes are in host memory (NvInferRuntime.h, getTensorLocation).
        """
        if self._engine.get_tensor_location(name).name != "DEVICE":
            raise StepError(
                f'the tensor "{name}" determines a shape: export the model so that shapes depend '
                "only on its inputs' shapes"
            )
        datatype = self._engine.get_tensor_dtype(name)
        if datatype not in self._datatypes:
            raise StepError(f'the tensor "{name}" is {datatype}, which no gate can compare')
        return self._datatypes[datatype]


def _check_accepted(is_accepted: bool, name: str) -> None:
    if not is_accepted:
        raise StepError(f'the engine has no tensor "{name}" of this shape: correct the recipe')
