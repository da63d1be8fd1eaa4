"""Files that export PyTorch modules."""


def torch_source(
    function: str,
    module: str,
    *,
    tensor: str = "X",
    features: int = 2,
    outputs: tuple[str, ...] = ("Y",),
    max_batch: int = 4,
    classes: str = "",
) -> str:
    """Return a file with a function for a module whose input has the shape [batch, features].

    `classes` are definitions that the module needs.
    """
    return f"""
import torch

from model_build import TorchModel

{classes}

def {function}(_):
    return TorchModel(
        module={module},
        inputs={{"{tensor}": torch.float32}},
        outputs={outputs},
        axes={{"{tensor}": {{"batch": (1, {max_batch})}}}},
        sample=lambda sizes, generator: {{
            "{tensor}": torch.randn(sizes["batch"], {features}, generator=generator)
        }},
    )
"""
