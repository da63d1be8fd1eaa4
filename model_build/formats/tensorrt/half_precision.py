"""The conversion of ONNX files to FP16."""

import warnings
from pathlib import Path
from typing import Any

from model_build.errors import BuildError


def to_half_precision(onnx_file: Path, to: Path) -> None:
    """Write `onnx_file` with FP16 weights and operators to `to`.

    Inputs and outputs keep their types. TensorRT 11 has no build flag for FP16, so the ONNX file
    must have FP16 types, which older versions support too. Raises `BuildError` if ONNX Runtime
    cannot load the result, before a GPU is used.
    """
    import onnx
    import onnxruntime
    from onnxruntime.transformers import float16

    model = onnx.load(onnx_file)
    _separate_outputs(model.graph)
    # The converter warns of each rounded weight. The recipe's gate, which compares outputs, finds
    # a total error that is too large.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = float16.convert_float_to_float16(model, keep_io_types=True)
    onnx.save(model, to)
    try:
        onnxruntime.InferenceSession(to, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime raises errors without a public type
        raise BuildError(
            f"the model cannot be turned into FP16 ({' '.join(str(error).split())}): write "
            "`precision: fp32` for its engine"
        ) from None


def _separate_outputs(graph: Any) -> None:
    """Insert an Identity before each output that is also an input of nodes.

    The converter keeps outputs in FP32, but the nodes need FP16.
    """
    import onnx

    input_names = {name for node in graph.node for name in node.input}
    for output in [tensor.name for tensor in graph.output if tensor.name in input_names]:
        inner_name = f"{output}/inner"
        for node in graph.node:
            for names in (node.input, node.output):
                for index, name in enumerate(names):
                    if name == output:
                        names[index] = inner_name
        graph.node.append(onnx.helper.make_node("Identity", [inner_name], [output]))
