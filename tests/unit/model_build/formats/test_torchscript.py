"""Exports of a small PyTorch module as TorchScript and with AOTInductor, in a worker process."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from model_build import BuildError, GateFailed, model_config
from model_build.export.gate import GateReport
from model_build.formats.torchscript import TorchAoti, TorchScript
from model_build.recipe_values import Gate
from tests.torch_source import torch_source
from tests.unit.model_build.fakes import step_context

# torch.jit is deprecated, but Triton's PyTorch backend loads its files.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")

TWO_OUTPUTS = """
class TwoOutputs(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)

    def forward(self, x):
        y = self.layer(x)
        return y, -y
"""
BRANCHING = """
class Branching(torch.nn.Module):
    def forward(self, x):
        return x * 2 if x.shape[0] > 1 else x
"""
INPUT: dict[str, Any] = {"tensor": "x", "features": 4, "max_batch": 8}
SOURCE = torch_source(
    "two_outputs", "TwoOutputs().eval()", outputs=("y", "z"), classes=TWO_OUTPUTS, **INPUT
) + torch_source("branching", "Branching().eval()", outputs=("y",), classes=BRANCHING, **INPUT)


@pytest.fixture(scope="module", autouse=True)
def environment() -> Iterator[None]:
    """Use the packages of this Python, since an installation takes minutes."""
    packages = Path(torch.__file__).parents[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("model_build.export.environments.install", lambda *_, **__: packages)
        yield


def _export(folder: Path, function: str) -> GateReport:
    folder.mkdir()
    (folder / "export.py").write_text(SOURCE)
    context = step_context(folder, scratch=folder.parent)
    step = TorchScript(to="torchscript", **_step(function))
    ((title, report),) = step.generate(folder / "model.pt", context).gates
    assert title == "TorchScript and PyTorch"
    return report


def _step(function: str) -> dict[str, Any]:
    gate = Gate(max_absolute_difference=1e-5)
    return {"source": f"export.py:{function}", "environment": "pins.txt", "gate": gate}


def test_traced_file_equals_its_module_for_every_batch(tmp_path: Path) -> None:
    report = _export(tmp_path / "model", "two_outputs")
    assert report.shapes == [{"batch": 1}, {"batch": 2}, {"batch": 4}, {"batch": 8}]
    assert report.max_absolute_difference <= 1e-6
    traced = torch.jit.load(tmp_path / "model" / "model.pt")  # type: ignore[no-untyped-call]
    first, second = traced(torch.ones(5, 4))
    assert first.shape == (5, 3)
    assert torch.equal(first, -second)


def test_data_dependent_branch_fails_the_gate(tmp_path: Path) -> None:
    with pytest.raises(GateFailed, match=r"^model\.pt differs from PyTorch by "):
        _export(tmp_path / "model", "branching")


@pytest.mark.drill
def test_package_has_code_for_other_processors_than_that_of_the_build(tmp_path: Path) -> None:
    (tmp_path / "export.py").write_text(SOURCE)
    path, context = tmp_path / "model.pt2", step_context(tmp_path, scratch=tmp_path)
    step = TorchAoti(to="torch-aoti", **_step("two_outputs"))
    ((title, report),) = step.generate(path, context).gates
    assert title == "AOTInductor and PyTorch"
    assert report.shapes == [{"batch": 1}, {"batch": 2}, {"batch": 4}, {"batch": 8}]
    assert report.max_absolute_difference <= 1e-5
    package = torch._inductor.aoti_load_package(str(path))
    assert package.get_metadata()["AOTI_CPU_ISA"] == "AVX2"
    debug_information = path.read_bytes()
    assert b" -march=x86-64-v3 " in debug_information


def test_package_needs_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    step = TorchAoti(to="torch-aoti", **_step("two_outputs"))
    with pytest.raises(BuildError, match=r"^model\.pt2: .* build on Linux on x86-64 with g\+\+"):
        step.generate(tmp_path / "model.pt2", step_context(tmp_path, scratch=tmp_path))


def test_resnet50_has_tensors_and_switches_of_the_article() -> None:
    model = Path(__file__).parents[4] / "models" / "resnet50" / "resnet50"
    config = model_config.parse((model / "config.pbtxt").read_text())
    assert (config.platform, config.max_batch_size) == ("pytorch_libtorch", 128)
    ((picture,), (logits,)) = (config.input, config.output)
    assert (picture.name, list(picture.dims)) == ("INPUT__0", [3, 224, 224])
    assert (logits.name, list(logits.dims)) == ("OUTPUT__0", [1000])
    assert len((model / logits.label_filename).read_text().splitlines()) == 1000
    assert {name: value.string_value for name, value in config.parameters.items()} == {
        "DISABLE_OPTIMIZED_EXECUTION": "false",
        "INFERENCE_MODE": "true",
        "ENABLE_NVFUSER": "false",
        "ENABLE_WEIGHT_SHARING": "false",
        "ENABLE_CACHE_CLEANING": "false",
        "ENABLE_JIT_EXECUTOR": "true",
        "ENABLE_JIT_PROFILING": "true",
        "ENABLE_TENSOR_FUSER": "true",
    }
