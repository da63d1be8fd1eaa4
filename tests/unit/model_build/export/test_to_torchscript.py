"""A small PyTorch module, traced for real."""

import textwrap
import zipfile
from pathlib import Path

import pytest
import torch

from model_build import GateFailed
from model_build.export import to_torchscript
from model_build.export.gate import GateReport
from model_build.recipe import Gate, TorchScript
from tests.unit.model_build.fakes import step_context

# torch.jit is deprecated, and what this platform of Triton takes
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")

SOURCE = """
import torch

from model_build import TorchModel


class TwoOutputs(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)

    def forward(self, x):
        y = self.layer(x)
        return y, -y


class Branching(torch.nn.Module):
    def forward(self, x):
        return x * 2 if x.shape[0] > 1 else x


def _of(module, outputs):
    return TorchModel(
        module=module.eval(),
        inputs={"x": torch.float32},
        outputs=outputs,
        axes={"x": {"batch": (1, 8)}},
        sample=lambda sizes, generator: {
            "x": torch.randn(sizes["batch"], 4, generator=generator)
        },
    )


def two_outputs(weights):
    return _of(TwoOutputs(), ("y", "z"))


def branching(weights):
    return _of(Branching(), ("y",))
"""


def _export(folder: Path, function: str, *, seed: int = 1) -> GateReport:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "export.py").write_text(textwrap.dedent(SOURCE))
    context = step_context(folder, seed=seed)
    step = TorchScript(
        to="torchscript",
        source=f"export.py:{function}",
        gate=Gate(max_absolute_difference=1e-5),
    )
    what, report = to_torchscript.export(step, to=folder / "model.pt", context=context)
    assert what == "TorchScript and PyTorch"
    return report


def test_a_traced_file_answers_like_its_module_for_every_batch(tmp_path: Path) -> None:
    report = _export(tmp_path, "two_outputs")
    assert report.shapes == [{"batch": 1}, {"batch": 2}, {"batch": 4}, {"batch": 8}]
    assert report.max_absolute_difference <= 1e-6
    traced = torch.jit.load(tmp_path / "model.pt")  # type: ignore[no-untyped-call]
    first, second = traced(torch.ones(5, 4))
    assert first.shape == (5, 3)
    assert torch.equal(first, -second)


def test_random_weights_are_the_seeds(tmp_path: Path) -> None:
    weights = []
    for number, seed in enumerate((1, 2, 1)):
        _export(tmp_path / str(number), "two_outputs", seed=seed)
        traced = torch.jit.load(tmp_path / str(number) / "model.pt")  # type: ignore[no-untyped-call]
        weights.append(traced.layer.weight)
    assert torch.equal(weights[0], weights[2])
    assert not torch.equal(weights[0], weights[1])


def test_what_only_error_messages_need_is_left_out(tmp_path: Path) -> None:
    _export(tmp_path, "two_outputs")
    with zipfile.ZipFile(tmp_path / "model.pt") as content:
        names = content.namelist()
    assert names
    assert not [it for it in names if it.endswith((".debug_pkl", "serialization_id"))]


def test_a_branch_that_tracing_froze_is_found_by_the_gate(tmp_path: Path) -> None:
    with pytest.raises(GateFailed, match=r"^model\.pt differs from PyTorch by "):
        _export(tmp_path, "branching")
