"""Small model files of several frameworks, as bytes."""

import io
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

Shapes = Mapping[str, Sequence[int | str]]
"""Tensor name -> dims; a str is a dynamic axis."""


def onnx(
    inputs: Shapes,
    outputs: Shapes,
    *,
    opset: int = 18,
    ir: int = 8,
    types: Mapping[str, str] | None = None,
    weights: Sequence[str] = (),
) -> bytes:
    """Return an ONNX file whose outputs equal its first input.

    Tensors without an entry in `types` are FLOAT; `weights` are inputs with a value in the file.
    """
    from onnx import TensorProto, ValueInfoProto, helper

    def tensor(name: str, dims: Sequence[int | str]) -> ValueInfoProto:
        data_type = TensorProto.DataType.Value((types or {}).get(name, "FLOAT"))
        return helper.make_tensor_value_info(name, data_type, dims)

    graph = helper.make_graph(
        [helper.make_node("Identity", [next(iter(inputs))], [name]) for name in outputs],
        "graph",
        [tensor(name, dims) for name, dims in inputs.items()],
        [tensor(name, dims) for name, dims in outputs.items()],
        [helper.make_tensor(name, TensorProto.FLOAT, [1], [0.0]) for name in weights],
    )
    # The default IR version of onnx is newer than ONNX Runtime reads.
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir)
    content: bytes = model.SerializeToString()
    return content


@cache
def torchscript() -> bytes:
    """Return a traced module with two inputs and two outputs."""
    import torch

    class Two(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x * 2, y * 2

    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`torch.jit", DeprecationWarning)
        example = (torch.ones(1, 2),) * 2
        traced = torch.jit.trace(Two(), example)  # type: ignore[no-untyped-call]
        torch.jit.save(traced, file)
    return file.getvalue()


@cache
def dali() -> bytes:
    """Return a pipeline serialized by DALI: one external source, DALI_INPUT_0, and one output."""
    return (Path(__file__).parents[1] / "cpu.dali").read_bytes()
