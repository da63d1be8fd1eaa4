"""ONNX exports of a small PyTorch module."""

from dataclasses import dataclass
from pathlib import Path

import onnx
import pytest
import torch

from model_build.export.gate import GateReport
from model_build.formats.onnx import Onnx
from model_build.recipe_values import Gate
from tests.torch_source import torch_source
from tests.unit.model_build.fakes import step_context

CLASSES = """
class TwoLayers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)
        )

    def forward(self, x):
        if torch.compiler.is_exporting():
            import warnings

            warnings.warn("harmless")
        return self.layers(x)

"""
SOURCE = torch_source(
    *("two_layers", "TwoLayers().eval()"),
    tensor="x",
    features=4,
    outputs=("y",),
    max_batch=8,
    classes=CLASSES,
)


@dataclass(frozen=True)
class Exported:
    file: Path
    report: GateReport
    opset: int


def _export(folder: Path, function: str, *, allowed: float = 1e-5, opset: int = 18) -> Exported:
    (folder / "export.py").write_text(SOURCE)
    step = Onnx(
        to="onnx",
        source=f"export.py:{function}",
        opset=opset,
        gate=Gate(max_absolute_difference=allowed),
    )
    ((_, report),) = step.generate(folder / "m.onnx", step_context(folder)).gates
    return Exported(folder / "m.onnx", report, opset)


@pytest.fixture(scope="module", params=[10, 18], ids=["opset 10", "opset 18"])
def exported(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Exported:
    return _export(tmp_path_factory.mktemp("two_layers"), "two_layers", opset=request.param)


def test_exported_file_has_opset_ir_version_and_producer(exported: Exported) -> None:
    model = onnx.load(exported.file)
    versions = {entry.domain: entry.version for entry in model.opset_import}
    assert versions[""] == exported.opset
    assert model.ir_version == {10: 5, 18: 8}[exported.opset]  # the oldest one for the opset
    assert model.producer_name == "pytorch"
    assert model.producer_version == torch.__version__.partition("+")[0]  # without the processor


def test_gate_compares_smallest_largest_and_middle_sizes(exported: Exported) -> None:
    report = exported.report
    assert report.shapes == [{"batch": 1}, {"batch": 2}, {"batch": 4}, {"batch": 8}]
    assert report.allowed == 1e-5
    assert 0 <= report.max_absolute_difference <= 1e-6
