"""Comparison of Triton with transformers' ResNet50 of the same seed, as TorchScript and ONNX."""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

MODELS = Path(__file__).parents[2]


def _run_transformers(pictures: "np.ndarray[Any, np.dtype[np.float32]]") -> Any:
    import torch

    export = runpy.run_path(str(MODELS / "resnet50" / "export.py"))
    torch.manual_seed(50)
    resnet = export["resnet50"](None).module.resnet
    with torch.inference_mode():
        return resnet(torch.from_numpy(pictures)).logits.numpy()


@pytest.mark.parametrize("name", ["resnet50", "resnet50-onnx"])
def test_logits_are_close_to_transformers(
    name: str, serve: Callable[[Path], Any], assert_close: Callable[..., None]
) -> None:
    model = serve(MODELS / name)
    pictures = np.random.default_rng(1).standard_normal((3, 3, 224, 224)).astype(np.float32)
    result = model.invoke({"INPUT__0": pictures})["OUTPUT__0"]
    assert_close(
        f"{name}, Triton and transformers", result, _run_transformers(pictures), relative=1e-4
    )
