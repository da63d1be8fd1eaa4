import torch

from model_build import TorchModel


def test_axis_of_several_inputs_has_one_bound() -> None:
    model = TorchModel(
        module=torch.nn.Identity(),
        inputs={"ids": torch.int64, "mask": torch.int64, "scale": torch.float32},
        outputs=("y",),
        axes={
            "ids": {"batch": (1, 64), "tokens": (2, 128)},
            "mask": {"batch": (1, 64), "tokens": (2, 128)},
            "scale": {"batch": (1, 64)},
        },
        sample=lambda *_: {},
    )
    assert model.axis_bounds() == {"batch": (1, 64), "tokens": (2, 128)}
