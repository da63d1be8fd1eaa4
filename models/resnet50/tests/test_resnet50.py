"""Triton against transformers' ResNet50 of the same seed, as TorchScript and as ONNX."""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

MODELS = Path(__file__).parents[2]


def _expected(pictures: "np.ndarray[Any, np.dtype[np.float32]]") -> Any:
    import torch

    export = runpy.run_path(str(MODELS / "resnet50" / "export.py"))
    torch.manual_seed(50)
    resnet = export["resnet50"](None).module.resnet
    with torch.inference_mode():
        return resnet(torch.from_numpy(pictures)).logits.numpy()


@pytest.mark.parametrize("name", ["resnet50", "resnet50-onnx"])
def test_the_endpoint_answers_as_transformers_does(
    name: str, serve: Callable[[Path], Any], agree: Callable[..., None]
) -> None:
    model = serve(MODELS / name)
    pictures = np.random.default_rng(1).standard_normal((3, 3, 224, 224)).astype(np.float32)
    result = model.ask({"INPUT__0": pictures})["OUTPUT__0"]
    agree(f"{name}, Triton and transformers", result, _expected(pictures), relative=1e-4)
