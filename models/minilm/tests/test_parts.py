"""The Python models of MiniLM, without Triton."""

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from model_build import model_config
from models.minilm.export import sample

MODEL = Path(__file__).parents[1]
Respond = Callable[..., Any]


class Response:
    """A fake of Triton's InferenceResponse: arrays by name, or an error message."""

    def __init__(self, tensors: list[SimpleNamespace] | None = None, error: Any = None) -> None:
        self.arrays = {tensor.name: tensor.array for tensor in tensors or []}
        self.error = error


def _load_model(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    backend = ModuleType("triton_python_backend_utils")
    vars(backend).update(
        Tensor=lambda name, array: SimpleNamespace(name=name, array=array),
        InferenceResponse=Response,
        TritonError=str,
        get_input_tensor_by_name=lambda request, name: SimpleNamespace(
            as_numpy=lambda: request[name]
        ),
    )
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", backend)
    spec = importlib.util.spec_from_file_location(name, MODEL / name / "1" / "model.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.TritonPythonModel()


def _run_pooling(
    monkeypatch: pytest.MonkeyPatch, vectors: NDArray[np.float32], mask: NDArray[np.int32]
) -> NDArray[np.float32]:
    request = {"last_hidden_state": vectors, "attention_mask": mask}
    (response,) = _load_model("pooling", monkeypatch).execute([request])
    embedding: NDArray[np.float32] = response.arrays["EMBEDDING"]
    return embedding


def test_embedding_is_the_normalized_mean_of_token_vectors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vectors = np.array([[[3, 0], [3, 8], [9, 9]], [[0, 2], [9, 9], [9, 9]]], np.float32)
    mask = np.array([[1, 1, 0], [1, 0, 0]])
    embedding = _run_pooling(monkeypatch, vectors, mask)
    assert embedding.dtype == np.float32
    np.testing.assert_allclose(embedding, np.array([[0.6, 0.8], [0, 1]]), rtol=1e-6)


def test_padding_does_not_change_embeddings(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    vectors = random.standard_normal((4, 5, 384), np.float32)
    mask = np.ones((4, 5), np.int32)
    wide = np.concatenate([vectors, random.standard_normal((4, 3, 384), np.float32)], axis=1)
    wide_mask = np.concatenate([mask, np.zeros((4, 3), np.int32)], axis=1)
    np.testing.assert_allclose(
        _run_pooling(monkeypatch, vectors, mask),
        _run_pooling(monkeypatch, wide, wide_mask),
        atol=1e-7,
    )


@pytest.mark.parametrize("mask", [[[0, 0]], [[1, 1]]])
def test_embedding_of_zero_vectors_is_zero(
    monkeypatch: pytest.MonkeyPatch, mask: list[list[int]]
) -> None:
    embedding = _run_pooling(monkeypatch, np.zeros((1, 2, 3), np.float32), np.array(mask))
    np.testing.assert_array_equal(embedding, [[0, 0, 0]])


@pytest.fixture
def tokenize(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Respond:
    """The initialized tokenizer model with a vocabulary of four words."""
    (tmp_path / "1").mkdir()
    vocabulary = Tokenizer(WordLevel({"[PAD]": 0, "[UNK]": 1, "hello": 2, "wörld": 3}, "[UNK]"))
    vocabulary.pre_tokenizer = Whitespace()
    vocabulary.save(str(tmp_path / "1" / "tokenizer.json"))
    config = model_config.read(MODEL / "tokenizer" / "config.pbtxt")
    parameters = {
        key: {"string_value": parameter.string_value}
        for key, parameter in config.parameters.items()
    }
    model = _load_model("tokenizer", monkeypatch)
    model.initialize(
        {
            "model_repository": str(tmp_path),
            "model_version": "1",
            "model_config": json.dumps({"parameters": parameters}),
        }
    )

    def respond(*texts: bytes) -> Response:
        (response,) = model.execute([{"TEXT": np.array([[text] for text in texts], object)}])
        assert isinstance(response, Response)
        return response

    return respond


def test_token_ids_are_padded_to_the_longest_sentence(tokenize: Respond) -> None:
    arrays = tokenize(b"hello", "hello wörld hello".encode()).arrays
    assert {name: array.dtype for name, array in arrays.items()} == {
        "input_ids": np.int32,
        "attention_mask": np.int32,
    }
    assert arrays["input_ids"].tolist() == [[2, 0, 0], [2, 3, 2]]
    assert arrays["attention_mask"].tolist() == [[1, 0, 0], [1, 1, 1]]


def test_sentence_is_truncated_to_128_tokens(tokenize: Respond) -> None:
    assert tokenize(b"hello " * 500).arrays["input_ids"].shape == (1, 128)


def test_invalid_utf8_is_an_error_with_the_inputs_name(tokenize: Respond) -> None:
    response = tokenize(b"hello", b"w\xf6rld")
    assert response.arrays == {}
    assert response.error.startswith("TEXT: 'utf-8' codec can't decode byte 0xf6")


@pytest.mark.parametrize("sizes", [{"batch": 1, "tokens": 2}, {"batch": 64, "tokens": 128}])
def test_gate_inputs_have_the_tokenizers_form(sizes: dict[str, int]) -> None:
    inputs = sample(sizes, torch.Generator().manual_seed(1))
    same_inputs = sample(sizes, torch.Generator().manual_seed(1))
    assert all(torch.equal(inputs[name], same_inputs[name]) for name in inputs)
    mask = inputs["attention_mask"]
    assert inputs["input_ids"].shape == mask.shape == (sizes["batch"], sizes["tokens"])
    assert mask.dtype == inputs["input_ids"].dtype == torch.int32
    assert (mask[:, :2] == 1).all()  # [CLS] and [SEP]
    assert (mask.diff(dim=1) <= 0).all()  # padding is at the end
    if sizes["batch"] > 1:
        assert 0 < mask.float().mean() < 1  # some are padded
