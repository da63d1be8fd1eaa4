"""The PyTorch network of the model, for export."""

from pathlib import Path

import torch
from torch import nn

from model_build import TorchModel


def network(_: Path | None) -> TorchModel:
    """Return the network; the parameter is the folder of verified weights, None if they are random.

    Replace: the module, by one that loads its weights from the folder, and the names and sizes of
    its tensors.
    """
    return TorchModel(
        module=nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2)),
        inputs={"INPUT__0": torch.float32},
        outputs=("OUTPUT__0",),
        axes={"INPUT__0": {"batch": (1, 64)}},
        sample=lambda sizes, generator: {
            "INPUT__0": torch.randn(sizes["batch"], 4, generator=generator)
        },
    )
