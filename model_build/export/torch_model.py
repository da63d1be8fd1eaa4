"""The return type of export functions in `models/`.

Environments of recipes contain this file of `model_build` and no other: it imports only the
standard library.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class TorchModel:
    """A PyTorch module with the data that an exporter needs.

    `inputs` maps the arguments of `forward`, in order, to their dtypes. `outputs` are the names of
    its results. `axes` maps each input to its dynamic axes, outermost first: axis name ->
    (smallest, largest) size; axes of one name have the same size. `sample` returns seeded inputs
    for a size of each axis and a generator.
    """

    module: "torch.nn.Module"
    inputs: dict[str, "torch.dtype"]
    outputs: tuple[str, ...]
    axes: dict[str, dict[str, tuple[int, int]]]
    sample: "Callable[[dict[str, int], torch.Generator], dict[str, torch.Tensor]]"

    def axis_bounds(self) -> dict[str, tuple[int, int]]:
        """Return the (smallest, largest) size of each dynamic axis, by name."""
        return {name: bounds for axes in self.axes.values() for name, bounds in axes.items()}

    def sizes_at(self, fraction: float) -> dict[str, int]:
        """Return a size for each axis: the smallest at 0, the largest at 1."""
        return {
            name: round(low + fraction * (high - low))
            for name, (low, high) in self.axis_bounds().items()
        }
