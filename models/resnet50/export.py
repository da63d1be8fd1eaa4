"""The export of ResNet50."""

from pathlib import Path

import torch
from transformers import ResNetConfig, ResNetForImageClassification

from model_build import TorchModel


class _Logits(torch.nn.Module):
    def __init__(self, resnet: torch.nn.Module) -> None:
        super().__init__()
        self.resnet = resnet

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.resnet(pixels, return_dict=False)[0]
        return logits


def resnet50(weights: Path | None) -> TorchModel:
    """Return ResNet50: images FP32 [batch, 3, 224, 224], logits FP32 [batch, 1000].

    `weights` is a folder with config.json and model.safetensors, None for random weights.
    """
    if weights is None:
        resnet = ResNetForImageClassification(ResNetConfig(num_labels=1000))
        _initialize_weights(resnet)
    else:
        resnet = ResNetForImageClassification.from_pretrained(weights, local_files_only=True)
    return TorchModel(
        module=_Logits(resnet).eval(),
        inputs={"INPUT__0": torch.float32},
        outputs=("OUTPUT__0",),
        axes={"INPUT__0": {"batch": (1, 4)}},
        sample=sample,
    )


def _initialize_weights(resnet: torch.nn.Module) -> None:
    """Set random weights that depend only on the seed, not on the version of transformers."""
    generator = torch.Generator().manual_seed(torch.initial_seed())
    for module in resnet.modules():
        if isinstance(module, torch.nn.Conv2d):
            torch.nn.init.kaiming_normal_(
                module.weight, mode="fan_out", nonlinearity="relu", generator=generator
            )
        elif isinstance(module, torch.nn.Linear):
            torch.nn.init.kaiming_uniform_(module.weight, a=5**0.5, generator=generator)
            torch.nn.init.zeros_(module.bias)


def sample(sizes: dict[str, int], generator: torch.Generator) -> dict[str, torch.Tensor]:
    """Return seeded images with the scale of a normalized photograph."""
    return {"INPUT__0": torch.randn(sizes["batch"], 3, 224, 224, generator=generator)}
