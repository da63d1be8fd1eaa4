"""Triton against transformers' BERT of the same seed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

MODEL = Path(__file__).parents[1]


def _texts() -> dict[str, Any]:
    random = np.random.default_rng(1)
    lengths = np.array([[5], [128]])
    mask = (np.arange(128) < lengths).astype(np.int32)
    tokens = random.integers(1000, 30522, (2, 128), dtype=np.int32)
    return {"token_ids": tokens * mask, "attn_mask": mask}


def _expected(texts: dict[str, Any]) -> tuple[Any, Any]:
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(110)
    model = BertModel(BertConfig(attn_implementation="eager")).eval()
    with torch.inference_mode():
        output, pooled = model(
            torch.from_numpy(texts["token_ids"]),
            torch.from_numpy(texts["attn_mask"]),
            return_dict=False,
        )
    return output.numpy(), pooled.numpy()


def test_the_endpoint_answers_as_transformers_does(
    serve: Callable[[Path], Any], agree: Callable[..., None]
) -> None:
    texts = _texts()
    result = serve(MODEL).ask(texts)
    output, pooled = _expected(texts)
    agree("bert output, Triton and transformers", result["output"], output, relative=1e-4)
    agree(
        "bert pooled_output, Triton and transformers",
        result["pooled_output"],
        pooled,
        relative=1e-4,
    )
