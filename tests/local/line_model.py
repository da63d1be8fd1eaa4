"""The model `line`, which a build exports to ONNX and compares with PyTorch."""

from pathlib import Path

from local_sagemaker.tests.support.tiny_models import write

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
LINE_EXPORT = '''
"""A line."""

import torch

from model_build import TorchModel


def line(_):
    return TorchModel(
        module=torch.nn.Linear(1, 1),
        inputs={"INPUT__0": torch.float32},
        outputs=("OUTPUT__0",),
        axes={"INPUT__0": {"batch": (1, 4)}},
        sample=lambda sizes, generator: {
            "INPUT__0": torch.randn(sizes["batch"], 1, generator=generator)
        },
    )
'''


def write_line(folder: Path) -> Path:
    """Write the model folder of `line`."""
    return write(
        folder,
        {"recipe.yaml": LINE_RECIPE, "export.py": LINE_EXPORT, "line/config.pbtxt": LINE_CONFIG},
    )
