"""Comparison of a model's outputs with ONNX Runtime itself, for ONNX files without a recipe step.

A file that a recipe exports was compared with its framework by the recipe's gate.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from endpoint_client._payload import Array
from model_build.repository import Model
from plan.golden import DEFAULT_DIFFERENCE, ExpectedOutput


def copied_file(model: Model) -> Path | None:
    """Return the ONNX file in a model's folder, None if it has none or is no ONNX model."""
    if model.backend != "onnxruntime" or model.config.HasField("sequence_batching"):
        return None
    name = model.config.default_model_filename or "model.onnx"
    paths = [model.directory / version / name for version in model.versions]
    return next((path for path in reversed(paths) if path.is_file()), None)


def differences(
    model: Model, file: Path, request: Mapping[str, Array], answer: Mapping[str, Array]
) -> Iterator[str]:
    """Yield a sentence for each output that differs from ONNX Runtime's on the same inputs."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors: its warnings, in colours, are about this machine
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    shapes = {node.name: node.shape for node in session.get_inputs()}
    inputs = {
        tensor.name: _to_onnx(model, tensor, request[tensor.name], shapes.get(tensor.name))
        for tensor in model.config.input
        if tensor.name in request
    }
    names = list(answer)
    for name, output in zip(names, session.run(names, inputs), strict=True):
        array = np.asarray(output)
        expected = ExpectedOutput(
            shape=list(answer[name].shape), data=[_plain(value) for value in array.flat]
        )
        if array.size != answer[name].size:
            yield f"{name}: ONNX Runtime returns shape {list(array.shape)}"
        elif difference := expected.difference(answer[name], allowed=DEFAULT_DIFFERENCE):
            yield f"{name}: differs from ONNX Runtime {onnxruntime.__version__}: {difference}"


def _to_onnx(model: Model, tensor: Any, array: Array, shape: list[Any] | None) -> Array:
    """Return an input as Triton passes it to a file whose input has `shape`, [] for a scalar."""
    if array.dtype == object:
        array = _to_texts(array)
    batch = array.shape[:1] if model.config.max_batch_size else ()
    if tensor.HasField("reshape"):
        return array.reshape(*batch, *tensor.reshape.shape)
    return array.reshape(()) if shape == [] and not batch else array


def _to_texts(array: Array) -> Array:
    return np.array([text.decode() for text in array.flat], object).reshape(array.shape)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
