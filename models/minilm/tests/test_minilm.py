"""Triton against transformers with the same weights."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from models.minilm.tests.reference import embeddings

MODEL = Path(__file__).parents[1]
SENTENCES = ["A short one.", "Größer als 7,5 €? 🙂 " * 3, "word " * 300]


def test_the_endpoint_answers_as_transformers_does(
    serve: Callable[[Path], Any], agree: Callable[..., None]
) -> None:
    texts = np.array([[sentence.encode()] for sentence in SENTENCES], dtype=np.object_)
    result = serve(MODEL).ask({"TEXT": texts})["EMBEDDING"]
    agree("minilm, Triton and transformers", result, embeddings(SENTENCES), relative=1e-4)


def test_the_encoder_passed_its_gate_from_the_smallest_request_to_the_largest(
    serve: Callable[[Path], Any],
) -> None:
    gate = serve(MODEL).manifest["gates"]["encoder/1/model.onnx: ONNX and PyTorch"]
    assert gate["shapes"][0] == {"batch": 1, "tokens": 2}
    assert gate["shapes"][-1] == {"batch": 64, "tokens": 128}
