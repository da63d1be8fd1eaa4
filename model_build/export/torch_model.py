"""The model that an export function in `models/` returns to the builder.

In a recipe's environment this file is all that there is of `model_build`: it needs the standard
library alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class TorchModel:
    """A PyTorch module with what an exporter must know of it.

    `inputs` maps each argument of `forward`, in order, to its dtype. `outputs` names what it
    returns. `axes` gives the dynamic axes of each input, outermost first, as name -> (smallest,
    largest) size; axes of one name are of one size. `sample` makes seeded inputs: it takes a size
    for each axis and a generator.
    """

    module: "torch.nn.Module"
    inputs: dict[str, "torch.dtype"]
    outputs: tuple[str, ...]
    axes: dict[str, dict[str, tuple[int, int]]]
    sample: "Callable[[dict[str, int], torch.Generator], dict[str, torch.Tensor]]"

    def axis_bounds(self) -> dict[str, tuple[int, int]]:
        """Return every dynamic axis once: name -> (smallest, largest) size."""
        return {name: bounds for axes in self.axes.values() for name, bounds in axes.items()}

    def sizes_at(self, fraction: float) -> dict[str, int]:
        """Return a size for each axis: the smallest at 0, the largest at 1."""
        return {
            name: round(low + fraction * (high - low))
            for name, (low, high) in self.axis_bounds().items()
        }
