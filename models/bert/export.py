"""The export of BERT-base."""

from pathlib import Path

import torch
from transformers import BertConfig, BertModel

from model_build import TorchModel

TOKENS = 128
VOCABULARY = 30522


class _Bert(torch.nn.Module):
    def __init__(self, bert: torch.nn.Module) -> None:
        super().__init__()
        self.bert = bert

    def forward(
        self, token_ids: torch.Tensor, attn_mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        output, pooled = self.bert(token_ids, attn_mask, return_dict=False)
        return output, pooled


def bert(weights: Path | None) -> TorchModel:
    """Return BERT: inputs INT32 [batch, 128], outputs FP32 [batch, 128, 768] and [batch, 768].

    The outputs are a vector per token and a vector per text. `weights` is a folder with config.json
    and model.safetensors, None for random weights.
    """
    eager = "eager"  # the simplest graph: sdpa adds IsNaN guards
    if weights is None:
        model = BertModel(BertConfig(attn_implementation=eager))
    else:
        model = BertModel.from_pretrained(weights, attn_implementation=eager, local_files_only=True)
    return TorchModel(
        module=_Bert(model).eval(),
        inputs={"token_ids": torch.int32, "attn_mask": torch.int32},
        outputs=("output", "pooled_output"),
        axes={"token_ids": {"batch": (1, 8)}, "attn_mask": {"batch": (1, 8)}},
        sample=sample,
    )


def sample(sizes: dict[str, int], generator: torch.Generator) -> dict[str, torch.Tensor]:
    """Return seeded texts of at least two tokens, padded to 128 tokens."""
    shape = (sizes["batch"], TOKENS)
    lengths = torch.randint(2, TOKENS + 1, (sizes["batch"], 1), generator=generator)
    mask = (torch.arange(TOKENS) < lengths).to(torch.int32)
    tokens = torch.randint(1000, VOCABULARY, shape, dtype=torch.int32, generator=generator)
    return {"token_ids": tokens * mask, "attn_mask": mask}
