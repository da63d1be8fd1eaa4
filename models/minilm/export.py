"""all-MiniLM-L6-v2 as the builder exports it."""

from pathlib import Path

import torch
from transformers import AutoModel

from model_build import TorchModel


class _TokenVectors(torch.nn.Module):
    def __init__(self, bert: torch.nn.Module) -> None:
        super().__init__()
        self.bert = bert

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        vectors: torch.Tensor = self.bert(input_ids, attention_mask, return_dict=False)[0]
        return vectors


def encoder(weights: Path) -> TorchModel:
    """Token ids and mask, INT32 [batch, tokens], to vectors, FP32 [batch, tokens, 384]."""
    bert = AutoModel.from_pretrained(
        weights,
        attn_implementation="eager",  # the simplest graph: sdpa adds IsNaN guards
        local_files_only=True,
    )
    return TorchModel(
        module=_TokenVectors(bert).eval(),
        inputs={"input_ids": torch.int32, "attention_mask": torch.int32},
        outputs=("last_hidden_state",),
        axes={
            "input_ids": {"batch": (1, 64), "tokens": (2, 128)},
            "attention_mask": {"batch": (1, 64), "tokens": (2, 128)},
        },
        sample=sample,
    )


def sample(sizes: dict[str, int], generator: torch.Generator) -> dict[str, torch.Tensor]:
    """Seeded inputs with the given axis sizes; every sentence keeps at least two tokens."""
    shape = (sizes["batch"], sizes["tokens"])
    lengths = torch.randint(2, sizes["tokens"] + 1, (sizes["batch"], 1), generator=generator)
    return {
        "input_ids": torch.randint(1000, 30000, shape, dtype=torch.int32, generator=generator),
        "attention_mask": (torch.arange(sizes["tokens"]) < lengths).to(torch.int32),
    }
