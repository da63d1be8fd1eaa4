"""MiniLM's own weights, run by transformers: what the endpoint's answers are held against.

`python -m models.minilm.tests.reference` reads sentences as a JSON list from standard input and
writes their embeddings as one, for programs that know a model by its endpoint alone.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy.typing as npt

from model_build import recipe
from model_build.export import weights
from model_build.progress import Printer

MODEL = Path(__file__).parents[1]


def embeddings(sentences: list[str]) -> npt.NDArray[Any]:
    """Return unit vectors, FP32 [sentences, 384], without Triton, ONNX or SageMaker."""
    import torch
    from tokenizers import Tokenizer
    from transformers import AutoModel
    from transformers.utils import logging

    logging.disable_progress_bar()
    pinned = recipe.read(MODEL).weights
    folder = weights.fetch(pinned, model_folder=MODEL, progress=Printer("minilm"))
    if folder is None:
        raise ValueError(f"{MODEL} has no weights")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(128)
    tokenizer.enable_padding()
    encoded = tokenizer.encode_batch(sentences)
    ids = torch.tensor([each.ids for each in encoded])
    mask = torch.tensor([each.attention_mask for each in encoded])
    with torch.inference_mode():
        tokens = AutoModel.from_pretrained(folder, local_files_only=True).eval()(
            input_ids=ids, attention_mask=mask
        )[0]
        weight = mask[..., None].float()
        mean = (tokens * weight).sum(1) / weight.sum(1)
        unit: npt.NDArray[Any] = torch.nn.functional.normalize(mean).numpy()
    return unit


if __name__ == "__main__":
    json.dump(embeddings(json.load(sys.stdin)).tolist(), sys.stdout)
