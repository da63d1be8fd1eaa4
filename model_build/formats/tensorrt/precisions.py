"""The conversion of FP32 ONNX files to FP16, BF16 and INT8, which keep their inputs and outputs.

TensorRT 11 has no build flags for precisions, so the ONNX file must have the types. Each function
raises `BuildError` if the result is no valid model, before a GPU is used; the recipe's gate, which
compares outputs, finds errors that are too large.
"""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from model_build.engines.engine_job import Arrays
from model_build.errors import BuildError

QUANTIZED = ("Conv", "Gemm", "MatMul")
"""Operators with INT8 inputs: those with which Tensor Cores compute."""


def to_half_precision(onnx_file: Path, to: Path) -> None:
    """Write `onnx_file` with FP16 weights and operators to `to`."""
    import onnx
    import onnxruntime
    from onnxruntime.transformers import float16

    model = onnx.load(onnx_file)
    _separate_outputs(model.graph)
    # The converter warns of each rounded weight.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = float16.convert_float_to_float16(model, keep_io_types=True)
    onnx.save(model, to)
    try:
        onnxruntime.InferenceSession(to, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime raises errors without a public type
        raise _not_converted("FP16", error) from None


def to_bfloat16(onnx_file: Path, to: Path) -> None:
    """Write `onnx_file` with BF16 weights and operators to `to`.

    ONNX Runtime has few BF16 operators on CPUs, so types are checked by ONNX's rules alone.
    """
    import onnx

    model = onnx.load(onnx_file)
    graph, float_, bfloat16 = model.graph, onnx.TensorProto.FLOAT, onnx.TensorProto.BFLOAT16
    _separate_outputs(graph)
    for tensor in graph.initializer:
        _round_to_bfloat16(tensor)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                _round_to_bfloat16(attribute.t)
            elif node.op_type == "Cast" and attribute.name == "to" and attribute.i == float_:
                attribute.i = bfloat16
            elif attribute.HasField("g"):
                raise _not_converted("BF16", f"{node.op_type} {node.name} has a graph of its own")
    casts = []
    for tensors, is_input in ((graph.input, True), (graph.output, False)):
        for name in [item.name for item in tensors if item.type.tensor_type.elem_type == float_]:
            _rename_uses(graph, name, f"{name}/bf16")
            ends = (name, f"{name}/bf16") if is_input else (f"{name}/bf16", name)
            type_ = bfloat16 if is_input else float_
            casts.append(onnx.helper.make_node("Cast", ends[:1], ends[1:], to=type_))
    nodes = [cast for cast in casts if cast.input[0] in {item.name for item in graph.input}]
    nodes += [*graph.node, *(cast for cast in casts if cast not in nodes)]
    del graph.node[:], graph.value_info[:]
    graph.node.extend(nodes)
    onnx.save(model, to)
    try:
        onnx.checker.check_model(to, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise _not_converted("BF16", error) from None


def to_int8(onnx_file: Path, to: Path, inputs: list[Arrays]) -> None:
    """Write `onnx_file` with Q/DQ nodes around `QUANTIZED` operators to `to`.

    The ranges of activations are those of `inputs`. Zero points are 0, as TensorRT requires
    (NVIDIA, "Working with Quantized Types"); biases stay FP32.
    """
    from onnxruntime import quantization

    class Reader(quantization.CalibrationDataReader):  # type: ignore[misc]
        remaining: Iterator[Arrays] = iter(inputs)

        def get_next(self) -> Arrays | None:
            return next(self.remaining, None)

    try:
        quantization.quantize_static(
            onnx_file,
            to,
            Reader(),
            quant_format=quantization.QuantFormat.QDQ,
            op_types_to_quantize=list(QUANTIZED),
            per_channel=True,
            activation_type=quantization.QuantType.QInt8,
            weight_type=quantization.QuantType.QInt8,
            extra_options={
                "ActivationSymmetric": True,
                "WeightSymmetric": True,
                "AddQDQPairToWeight": True,
                "QuantizeBias": False,
            },
        )
    except Exception as error:  # its errors have no public type
        raise _not_converted("INT8", error) from None


def _not_converted(precision: str, error: object) -> BuildError:
    return BuildError(
        f"the model cannot be turned into {precision} ({' '.join(str(error).split())}): write "
        "`precision: fp32` for its engine"
    )


def _round_to_bfloat16(tensor: Any) -> None:
    """Replace a FLOAT tensor by its BF16 values."""
    import onnx
    from ml_dtypes import bfloat16

    if tensor.data_type == onnx.TensorProto.FLOAT:
        array = onnx.numpy_helper.to_array(tensor).astype(bfloat16)
        tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))


def _separate_outputs(graph: Any) -> None:
    """Insert an Identity before each output that is also an input of nodes.

    A converter keeps outputs in FP32, but the nodes need its precision.
    """
    import onnx

    input_names = {name for node in graph.node for name in node.input}
    for output in [tensor.name for tensor in graph.output if tensor.name in input_names]:
        _rename_uses(graph, output, f"{output}/inner")
        graph.node.append(onnx.helper.make_node("Identity", [f"{output}/inner"], [output]))


def _rename_uses(graph: Any, name: str, new_name: str) -> None:
    """Rename a tensor in all nodes."""
    for node in graph.node:
        for names in (node.input, node.output):
            for index, other_name in enumerate(names):
                if other_name == name:
                    names[index] = new_name
