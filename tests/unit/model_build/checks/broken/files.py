"""Small files of every framework, as bytes."""

import io
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

Shapes = Mapping[str, Sequence[int | str]]
"""Tensor name -> dims; a name in the place of a size is a dynamic axis."""


def onnx(
    inputs: Shapes,
    outputs: Shapes,
    *,
    opset: int = 18,
    ir: int = 8,
    types: Mapping[str, str] | None = None,
    weights: Sequence[str] = (),
) -> bytes:
    """Return an ONNX file whose outputs are its first input; FLOAT where `types` has no other.

    `weights` are inputs that the file itself has values for.
    """
    from onnx import TensorProto, ValueInfoProto, helper

    def tensor(name: str, dims: Sequence[int | str]) -> ValueInfoProto:
        kind = TensorProto.DataType.Value((types or {}).get(name, "FLOAT"))
        return helper.make_tensor_value_info(name, kind, dims)

    graph = helper.make_graph(
        [helper.make_node("Identity", [next(iter(inputs))], [name]) for name in outputs],
        "graph",
        [tensor(name, dims) for name, dims in inputs.items()],
        [tensor(name, dims) for name, dims in outputs.items()],
        [helper.make_tensor(name, TensorProto.FLOAT, [1], [0.0]) for name in weights],
    )
    # onnx itself writes newer files than ONNX Runtime reads.
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir)
    content: bytes = model.SerializeToString()
    return content


@cache
def torchscript(*, tensors: int) -> bytes:
    """Return a traced module that takes `x`, or `x` and `y`, and returns as many."""
    import torch

    class One(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2

    class Two(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x * 2, y * 2

    written = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`torch.jit", DeprecationWarning)
        example = (torch.ones(1, 2),) * tensors
        module = {1: One, 2: Two}[tensors]()
        traced = torch.jit.trace(module, example)  # type: ignore[no-untyped-call]
        torch.jit.save(traced, written)
    return written.getvalue()


@cache
def dali() -> bytes:
    """Return a pipeline of one external source, DALI_INPUT_0, and one output; DALI wrote it."""
    return (Path(__file__).parents[1] / "cpu.dali").read_bytes()
