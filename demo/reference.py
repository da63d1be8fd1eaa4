"""The same weights, run by transformers directly: what the endpoint's answers are held against."""

from pathlib import Path
from typing import Any

import numpy.typing as npt

from model_build import recipe, weights
from model_build.progress import Printer

MODEL = Path("models/minilm")


def embeddings(sentences: list[str]) -> npt.NDArray[Any]:
    """Return unit vectors, FP32 [sentences, 384], without Triton, ONNX or SageMaker."""
    import torch
    from tokenizers import Tokenizer
    from transformers import AutoModel
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    pinned = recipe.read(MODEL).weights
    folder = weights.fetch(pinned, model_folder=MODEL, progress=Printer("minilm"))
    if folder is None:
        raise ValueError(f"{MODEL} has no weights")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(128)
    tokenizer.enable_padding()
    encoded = tokenizer.encode_batch(sentences)
    ids = torch.tensor([it.ids for it in encoded])
    mask = torch.tensor([it.attention_mask for it in encoded])
    with torch.inference_mode():
        tokens = AutoModel.from_pretrained(folder, local_files_only=True).eval()(
            input_ids=ids, attention_mask=mask
        )[0]
        weight = mask[..., None].float()
        mean = (tokens * weight).sum(1) / weight.sum(1)
        unit: npt.NDArray[Any] = torch.nn.functional.normalize(mean).numpy()
    return unit
