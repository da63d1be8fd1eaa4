"""MiniLM in transformers, as the reference for the endpoint's outputs.

`python -m models.minilm.tests.reference '["a sentence"]'` prints the embeddings of a JSON list of
sentences as JSON. `tritonsm demo` runs it.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy.typing as npt

from model_build import ModelFolder
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
    pinned = ModelFolder(MODEL).model().recipe.weights
    folder = weights.fetch(pinned, model_folder=MODEL, progress=Printer("minilm"))
    if folder is None:
        raise ValueError(f"{MODEL} has no weights")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(128)
    tokenizer.enable_padding()
    encoded = tokenizer.encode_batch(sentences)
    ids = torch.tensor([sentence.ids for sentence in encoded])
    mask = torch.tensor([sentence.attention_mask for sentence in encoded])
    with torch.inference_mode():
        tokens = AutoModel.from_pretrained(folder, local_files_only=True).eval()(
            input_ids=ids, attention_mask=mask
        )[0]
        weight = mask[..., None].float()
        mean = (tokens * weight).sum(1) / weight.sum(1)
        unit: npt.NDArray[Any] = torch.nn.functional.normalize(mean).numpy()
    return unit


if __name__ == "__main__":
    json.dump(embeddings(json.loads(sys.argv[1])).tolist(), sys.stdout)
