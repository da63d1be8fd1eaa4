"""A stand-in for Triton's C++ pytorch backend: the torch package on the CPU, with TorchScript."""

from pathlib import Path
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from local_sagemaker.hosting.backends.stand_in import Arrays, StandIn
else:  # it is copied beside this file
    from stand_in import Arrays, StandIn


class TritonPythonModel(StandIn):
    file = "model.pt"

    def load(self, path: Path) -> None:
        loaded = torch.jit.load(path, map_location="cpu")  # type: ignore[no-untyped-call]
        self.module = loaded.eval()

    def run(self, arrays: Arrays) -> Arrays:
        with torch.inference_mode():
            outputs = self.module(*(torch.from_numpy(array) for array in arrays))
        outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        return [output.numpy() for output in outputs]
