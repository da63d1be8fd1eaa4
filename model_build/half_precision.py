"""An ONNX file in FP16, with the inputs and outputs of the original."""

from pathlib import Path


def to_half_precision(onnx_file: Path, to: Path) -> None:
    """Write `onnx_file` with FP16 weights and operators to `to`; its tensors keep their types.

    TensorRT 11 takes precisions from the network alone, and older versions can: one file says the
    same to all of them.
    """
    import onnx
    from onnxconverter_common import float16

    model = float16.convert_float_to_float16(onnx.load(onnx_file), keep_io_types=True)
    onnx.save(model, to)
