"""The TensorRT step of a recipe, compiled on a fake GPU."""

from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from model_build import BuildError, BuildTarget
from model_build.engines.accepted_results import FolderResultStore
from model_build.engines.local_gpu import LocalGpu
from model_build.engines.provider import Engines
from model_build.export.step import StepContext
from model_build.formats.tensorrt import TensorRt
from model_build.recipe import Recipe
from platform_facts import ComputeCapability
from tests.torch_source import torch_source
from tests.unit.model_build.checks.cases import files
from tests.unit.model_build.engines.test_local_gpu import ROOT, STAND_IN
from tests.unit.model_build.fakes import ProgressLines, step_context

STEP: dict[str, Any] = {
    "to": "tensorrt",
    "source": "export.py:same",
    "opset": 18,
    "gate": {"max_absolute_difference": 1e-5},
    "engine": {"precision": "fp16", "profiles": [{"X": {"min": [1, 2], "opt": [2, 2], "max": [4,
         2]}}], "gate": {"max_absolute_difference": 0.01}},
}  # fmt: skip


@pytest.fixture
def context(
    tmp_path: Path, progress_lines: ProgressLines, monkeypatch: pytest.MonkeyPatch
) -> StepContext:
    """Context of a build with a fake A10G, whose ONNX file is written without an export."""
    monkeypatch.setenv("PYTHONPATH", f"{STAND_IN}:{ROOT}")
    monkeypatch.setenv("STAND_IN_TENSORRT", "10.9.0.34.post1")  # PyPI's repair of the version
    monkeypatch.delenv("CUDA_VERSION", raising=False)
    monkeypatch.setattr(LocalGpu, "compute_capability", lambda _: ComputeCapability(8, 6))
    content = files.onnx({"X": ["batch", 2]}, {"Y": ["batch", 2]})
    monkeypatch.setattr(
        "model_build.formats.onnx.export._write_onnx", lambda *_, to, **__: to.write_bytes(content)
    )
    (tmp_path / "export.py").write_text(torch_source("same", "torch.nn.Identity()"))
    return step_context(
        tmp_path,
        target=BuildTarget(release="25.04", compute_capability="8.9"),
        scratch=Path(mkdtemp(dir=tmp_path)),
        progress=progress_lines,
        engines=Engines(FolderResultStore(tmp_path / "kept"), LocalGpu()),
    )


def _export(context: StepContext, to: Path, **engine: Any) -> Any:
    fields = {**STEP, "engine": {**STEP["engine"], **engine}}
    recipe = Recipe.model_validate({"description": "", "files": {"double/1/model.plan": fields}})
    step = recipe.files["double/1/model.plan"]
    assert isinstance(step, TensorRt)
    to.parent.mkdir(parents=True, exist_ok=True)
    return step.generate(to, context)


@pytest.mark.parametrize("precision", ["fp32", "tf32", "int8"])
def test_engine_of_a_precision_is_compared_and_timed(
    context: StepContext, progress_lines: ProgressLines, tmp_path: Path, precision: str
) -> None:
    _, result = _export(
        context, tmp_path / "r" / "double" / "1" / "model.plan", precision=precision
    )
    assert len(result.latency_ms) == 3
    assert (
        f"model.plan for {{'batch': 4}}: {result.latency_ms[2]:.3f} ms on stand-in for an NVIDIA "
        "A10G"
    ) in progress_lines


def test_unsuitable_gpu_is_refused_before_the_export(
    context: StepContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalGpu, "compute_capability", lambda _: ComputeCapability(7, 5))
    with pytest.raises(BuildError, match=r"for compute capability 8\.9 cannot be compiled on"):
        _export(context, tmp_path / "model.plan")
    assert list(context.scratch.iterdir()) == []
