"""From a recipe's step to a plan, with a driver and a TensorRT that are not there."""

import ctypes
import sys
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest

from model_build import BuildError, BuildTarget
from model_build.export import to_onnx, to_tensorrt
from model_build.export.nvidia_gpu import NvidiaGpu
from model_build.export.step_context import StepContext
from model_build.export.timing_cache import FolderTimingCache
from model_build.recipe import Recipe, TensorRt
from platform_facts import ComputeCapability
from tests.unit.model_build.checks.broken import files
from tests.unit.model_build.export.tensorrt.recorded_api import RecordedTensorRt
from tests.unit.model_build.fakes import Lines, step_context

SOURCE = """
import torch

from model_build import TorchModel


def same(_):
    return TorchModel(
        module=torch.nn.Identity(),
        inputs={"X": torch.float32},
        outputs=("Y",),
        axes={"X": {"batch": (1, 4)}},
        sample=lambda sizes, generator: {"X": torch.randn(sizes["batch"], 2, generator=generator)},
    )
"""
STEP = {
    "to": "tensorrt",
    "source": "export.py:same",
    "opset": 18,
    "gate": {"max_absolute_difference": 1e-5},
    "engine": {
        "precision": "fp16",
        "profiles": [{"X": {"min": [1, 2], "opt": [2, 2], "max": [4, 2]}}],
        "gate": {"max_absolute_difference": 0.01},
    },
}
A10G = NvidiaGpu("NVIDIA A10G", ComputeCapability(8, 6))


@pytest.fixture
def context(tmp_path: Path, said: Lines, monkeypatch: pytest.MonkeyPatch) -> StepContext:
    """A build whose ONNX files are not exported, but are what they would be."""
    content = files.onnx({"X": ["batch", 2]}, {"Y": ["batch", 2]})
    monkeypatch.setattr(to_onnx, "_write", lambda *_, to, **__: to.write_bytes(content))
    (tmp_path / "export.py").write_text(SOURCE)
    (tmp_path / "scratch").mkdir()
    return step_context(
        tmp_path,
        target=BuildTarget(release="25.04", compute_capability="8.9"),
        scratch=tmp_path / "scratch",
        progress=said,
        timing_cache=FolderTimingCache(tmp_path / "timing-caches"),
    )


def _export(context: StepContext, to: Path) -> Any:
    recipe = Recipe.model_validate({"description": "", "files": {"double/1/model.plan": STEP}})
    step = recipe.files["double/1/model.plan"]
    assert isinstance(step, TensorRt)
    return to_tensorrt.export(step, to=to, context=context)


def _have(monkeypatch: pytest.MonkeyPatch, trt: RecordedTensorRt, gpu: NvidiaGpu = A10G) -> None:
    """Give this machine a GPU and a TensorRT whose engines answer as the model does."""
    monkeypatch.setattr(to_tensorrt, "require_gpu", lambda: gpu)
    trt.__spec__ = ModuleSpec("tensorrt", None)
    monkeypatch.setitem(sys.modules, "tensorrt", cast("ModuleType", trt))

    def runner(_: Any, plan: bytes, model: Any) -> Any:
        assert plan == b"serialized"
        return lambda inputs: [model.module(inputs["X"]).detach().numpy()]

    monkeypatch.setattr(to_tensorrt, "engine_runner", runner)


def test_a_plan_is_compiled_gated_and_its_timings_kept(
    context: StepContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trt = RecordedTensorRt("10.16.1.11")
    trt.__version__ = "10.9.0.34"
    _have(monkeypatch, trt)
    to = tmp_path / "repository" / "double" / "1" / "model.plan"
    to.parent.mkdir(parents=True)
    (onnx, first), (engine, second) = _export(context, to)
    assert to.read_bytes() == b"serialized"
    assert (onnx, engine) == ("ONNX and PyTorch", "engine and ONNX Runtime")
    assert first.max_absolute_difference < 1e-6
    assert second.shapes == [{"batch": 1}, {"batch": 2}, {"batch": 4}]
    kept = tmp_path / "timing-caches" / "NVIDIA-A10G-10.9.0.34.cache"
    assert kept.read_bytes() == b"serialized"
    assert any("AMPERE_PLUS" in call for call in trt.calls)  # 8.9 is not the builder's own


def test_without_a_driver_it_is_an_error_and_no_crash(
    context: StepContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(
        BuildError, match=r"no NVIDIA driver \(libcuda\.so\.1\): build in CodeBuild"
    ):
        _export(context, tmp_path / "model.plan")


def test_a_gpu_that_cannot_compile_for_the_endpoints_is_refused_before_anything_is_exported(
    context: StepContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _have(
        monkeypatch, RecordedTensorRt("10.16.1.11"), NvidiaGpu("Tesla T4", ComputeCapability(7, 5))
    )
    with pytest.raises(BuildError, match=r"for compute capability 8\.9 cannot be compiled on"):
        _export(context, tmp_path / "model.plan")
    assert list(context.scratch.iterdir()) == []


def test_another_tensorrt_than_the_releases_is_refused(
    context: StepContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _have(monkeypatch, RecordedTensorRt("8.6.0"))
    other = replace(context, target=BuildTarget(release="26.03", compute_capability="8.6"))
    with pytest.raises(BuildError, match=r"has TensorRT 8\.6\.0, Triton 26\.03 has 10"):
        _export(other, tmp_path / "model.plan")


def test_another_tensorrt_than_one_without_a_source_is_warned_about(
    context: StepContext, tmp_path: Path, said: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    _have(monkeypatch, RecordedTensorRt("8.6.0"))
    other = replace(context, target=BuildTarget(release="24.05", compute_capability="8.6"))
    _export(other, tmp_path / "model.plan")
    assert said.lines[0].startswith("warning: this machine has TensorRT 8.6.0, Triton 24.05 has 10")


def test_without_tensorrt_the_image_that_has_it_is_named(
    context: StepContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(to_tensorrt, "require_gpu", lambda: A10G)
    with pytest.raises(BuildError, match=r"cannot be imported .*/pytorch:25\.04-py3"):
        _export(context, tmp_path / "model.plan")
    assert list(context.scratch.iterdir()) == []
