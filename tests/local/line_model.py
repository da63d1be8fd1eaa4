"""The model `line`, which a build exports to ONNX and compares with PyTorch."""

from pathlib import Path

from local_sagemaker.tests.support.tiny_models import write
from tests.torch_source import torch_source

LINE_RECIPE = """
description: A line with random weights, exported by PyTorch
files:
  line/1/model.onnx:
    to: onnx
    source: export.py:line
    opset: 18
    gate: { max_absolute_difference: 1.0e-6 }
"""
LINE_CONFIG = """
backend: "onnxruntime"
max_batch_size: 8
input [ { name: "INPUT__0" data_type: TYPE_FP32 dims: [ 1 ] } ]
output [ { name: "OUTPUT__0" data_type: TYPE_FP32 dims: [ 1 ] } ]
"""
LINE_EXPORT = torch_source(
    "line", "torch.nn.Linear(1, 1)", tensor="INPUT__0", features=1, outputs=("OUTPUT__0",)
)


def write_line(folder: Path) -> Path:
    """Write the model folder of `line`."""
    return write(
        folder,
        {"recipe.yaml": LINE_RECIPE, "export.py": LINE_EXPORT, "line/config.pbtxt": LINE_CONFIG},
    )
