"""Comparison of Triton with transformers with the same weights."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from models.minilm.tests.reference import embeddings

MODEL = Path(__file__).parents[1]
SENTENCES = ["A short one.", "Größer als 7,5 €? 🙂 " * 3, "word " * 300]


def test_embeddings_are_close_to_transformers(
    serve: Callable[[Path], Any], assert_close: Callable[..., None]
) -> None:
    texts = np.array([[sentence.encode()] for sentence in SENTENCES], dtype=np.object_)
    result = serve(MODEL).invoke({"TEXT": texts})["EMBEDDING"]
    assert_close("minilm, Triton and transformers", result, embeddings(SENTENCES), relative=1e-4)
