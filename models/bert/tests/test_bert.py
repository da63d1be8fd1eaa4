"""Comparison of Triton with transformers' BERT of the same seed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

MODEL = Path(__file__).parents[1]


def _make_inputs() -> dict[str, Any]:
    random = np.random.default_rng(1)
    lengths = np.array([[5], [128]])
    mask = (np.arange(128) < lengths).astype(np.int32)
    tokens = random.integers(1000, 30522, (2, 128), dtype=np.int32)
    return {"token_ids": tokens * mask, "attn_mask": mask}


def _run_transformers(inputs: dict[str, Any]) -> tuple[Any, Any]:
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(110)
    model = BertModel(BertConfig(attn_implementation="eager")).eval()
    with torch.inference_mode():
        output, pooled = model(
            torch.from_numpy(inputs["token_ids"]),
            torch.from_numpy(inputs["attn_mask"]),
            return_dict=False,
        )
    return output.numpy(), pooled.numpy()


def test_outputs_are_close_to_transformers(
    serve: Callable[[Path], Any], assert_close: Callable[..., None]
) -> None:
    inputs = _make_inputs()
    outputs = serve(MODEL).invoke(inputs)
    for name, expected in zip(("output", "pooled_output"), _run_transformers(inputs), strict=True):
        title = f"bert {name}, Triton and transformers"
        assert_close(title, outputs[name], expected, relative=1e-4)
