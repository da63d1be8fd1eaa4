"""A script that freezes a Keras model into a GraphDef or an ONNX file.

It runs in an environment with TensorFlow and without model_build, and reads a JSON request from
stdin: `source` (FILE.py:FUNCTION), `weights` (a folder or null), `seed`, `onnx` (false for a
GraphDef), `opset`, `output_path`, and `outputs_file`: an .npz file for the model's outputs for
seeded inputs with the batch sizes `batches`, which the builder compares.
"""

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # the rounding of oneDNN depends on the machine

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

NUMBERED = re.compile(r"(.*?)(?:__\d+)+(:\d+)?")
"""A name that tf2onnx has made unique."""


def main(request: dict[str, Any]) -> None:
    keras.utils.set_random_seed(request["seed"])
    model = load(request["source"])(request["weights"] and Path(request["weights"]))
    names = ([tensor.name for tensor in model.inputs], list(model.output_names))
    graph = freeze(model, *names)
    if request["onnx"]:
        write_onnx(graph, *names, opset=request["opset"], to=request["output_path"])
        frozen = None
    else:
        Path(request["output_path"]).write_bytes(graph.SerializeToString(deterministic=True))
        frozen = make_runnable(graph, *names)
    write_outputs(model, frozen, *names, batches=request["batches"], to=request["outputs_file"])


def load(source: str) -> Callable[[Path | None], Any]:
    file, _, function = source.rpartition(":")
    module = ModuleType("model_source")
    module.__file__ = file
    # compile() reads and writes no bytecode files, which the model's digest does not cover.
    exec(compile(Path(file).read_bytes(), file, "exec", dont_inherit=True), module.__dict__)
    exporter: Callable[[Path | None], Any] = getattr(module, function)
    return exporter


def freeze(model: Any, inputs: list[str], outputs: list[str]) -> Any:
    """Return the model as one graph without variables, with Keras's tensor names."""

    def call(*arrays: Any) -> list[Any]:
        results = tf.nest.flatten(
            model(list(arrays) if len(arrays) > 1 else arrays[0], training=False)
        )
        return [
            tf.identity(tensor, name=name) for tensor, name in zip(results, outputs, strict=True)
        ]

    specs = [
        tf.TensorSpec(tensor.shape, tensor.dtype, name=name)
        for tensor, name in zip(model.inputs, inputs, strict=True)
    ]
    concrete_function = tf.function(call).get_concrete_function(*specs)
    graph = convert_variables_to_constants_v2(concrete_function).graph.as_graph_def()
    return tf.compat.v1.graph_util.extract_sub_graph(graph, outputs)


def write_onnx(graph: Any, inputs: list[str], outputs: list[str], *, opset: int, to: str) -> None:
    import tf2onnx

    converted, _ = tf2onnx.convert.from_graph_def(
        graph,
        input_names=[f"{name}:0" for name in inputs],
        output_names=[f"{name}:0" for name in outputs],
        tensors_to_rename={f"{name}:0": name for name in inputs + outputs},
        opset=opset,
    )
    for value in (*converted.graph.input, *converted.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    renumber(converted.graph)
    Path(to).write_bytes(converted.SerializeToString(deterministic=True))


def renumber(graph: Any) -> None:
    """Number the names of an ONNX graph by its nodes: tf2onnx numbers constants in any order."""
    names: dict[str, str] = {}

    def rename(name: str) -> str:
        match = NUMBERED.fullmatch(name)
        if match is None:
            return name
        base, end = match.groups()
        return names.setdefault(name, f"{base}__{len(names)}{end or ''}")

    for node in graph.node:
        for values in (node.input, node.output):
            values[:] = map(rename, values)
    for value in (*graph.node, *graph.initializer, *graph.value_info):
        value.name = rename(value.name)
    initializers = sorted(graph.initializer, key=lambda value: str(value.name))
    del graph.initializer[:]
    graph.initializer.extend(initializers)


def make_runnable(graph: Any, inputs: list[str], outputs: list[str]) -> Any:
    """Return a function that runs a GraphDef by tensor names, like Triton."""
    imported_graph = tf.compat.v1.wrap_function(lambda: tf.import_graph_def(graph, name=""), [])
    return imported_graph.prune(
        [imported_graph.graph.get_tensor_by_name(f"{name}:0") for name in inputs],
        [imported_graph.graph.get_tensor_by_name(f"{name}:0") for name in outputs],
    )


def write_outputs(
    model: Any,
    frozen: Any,
    inputs: list[str],
    outputs: list[str],
    *,
    batches: list[int],
    to: str,
) -> None:
    random = np.random.default_rng(0)
    shapes = json.dumps([{"batch": batch} for batch in batches])
    arrays: dict[str, np.ndarray[Any, Any]] = {"shapes": np.array(shapes)}
    for case, batch in enumerate(batches):
        sample = [
            random.uniform(-1, 1, (batch, *tensor.shape[1:])).astype(tensor.dtype)
            for tensor in model.inputs
        ]
        arrays |= {
            f"{case}/input/{name}": array for name, array in zip(inputs, sample, strict=True)
        }
        results = tf.nest.flatten(model(sample if len(sample) > 1 else sample[0], training=False))
        for name, array in zip(outputs, results, strict=True):
            arrays[f"{case}/original/{name}"] = array.numpy()
        if frozen:
            for name, array in zip(outputs, frozen(*map(tf.constant, sample)), strict=True):
                arrays[f"{case}/converted/{name}"] = array.numpy()
    np.savez(to, **arrays)


main(json.load(sys.stdin))
