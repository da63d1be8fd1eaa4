"""An ONNX file in FP16, with the inputs and outputs of the original."""

import warnings
from pathlib import Path
from typing import Any

from model_build.errors import BuildError


def to_half_precision(onnx_file: Path, to: Path) -> None:
    """Write `onnx_file` with FP16 weights and operators to `to`; its tensors keep their types.

    TensorRT 11 takes precisions from the network alone, and older versions can: one file says the
    same to all of them. Raises `BuildError` where ONNX Runtime cannot load what comes out: before a
    GPU is asked.
    """
    import onnx
    import onnxruntime
    from onnxruntime.transformers import float16

    model = onnx.load(onnx_file)
    _end_outputs(model.graph)
    with warnings.catch_warnings():  # of every weight that FP16 rounds; the gate judges the sum
        warnings.simplefilter("ignore")
        model = float16.convert_float_to_float16(model, keep_io_types=True)
    onnx.save(model, to)
    try:
        onnxruntime.InferenceSession(to, providers=["CPUExecutionProvider"])
    except Exception as error:  # of types that ONNX Runtime does not export
        raise BuildError(
            f"the model cannot be turned into FP16 ({' '.join(str(error).split())}): write "
            "`precision: fp32` for its engine"
        ) from None


def _end_outputs(graph: Any) -> None:
    """Let no node read a graph's output: the converter would give it the FP32 that leaves."""
    import onnx

    read = {name for node in graph.node for name in node.input}
    for output in [tensor.name for tensor in graph.output if tensor.name in read]:
        inner = f"{output}/inner"
        for node in graph.node:
            for names in (node.input, node.output):
                for index, name in enumerate(names):
                    if name == output:
                        names[index] = inner
        graph.node.append(onnx.helper.make_node("Identity", [inner], [output]))
