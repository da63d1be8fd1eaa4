"""The GPU step as a process on this machine, with a fake GPU and TensorRT."""

import sys
from pathlib import Path

import pytest

from model_build import BuildError
from model_build.engines.engine_job import EngineJob
from model_build.engines.engine_result import EngineResult
from model_build.engines.local_gpu import LocalGpu
from tests.unit.model_build.engines.conftest import INPUT
from tests.unit.model_build.fakes import ProgressLines

ROOT = Path(__file__).parents[4]
STAND_IN = ROOT / "tests" / "gpu_stand_in"


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let child processes import the fake CUDA driver and TensorRT."""
    monkeypatch.setenv("PYTHONPATH", f"{STAND_IN}:{ROOT}")
    monkeypatch.delenv("CUDA_VERSION", raising=False)
    monkeypatch.delenv("STAND_IN_TENSORRT", raising=False)


def test_job_is_compiled_and_its_engine_run(
    gpu: None, job: EngineJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_TENSORRT", "10.13.3.9.post1")  # PyPI's repair of the job's version
    progress = ProgressLines()
    LocalGpu().run(job, to=tmp_path / "result", progress=progress)
    result = EngineResult.read(tmp_path / "result", job)
    assert result.plan.read_bytes().startswith(b"a stand-in's plan")
    ((output,),) = [list(case.values()) for case in result.outputs()]
    assert (output == INPUT).all()
    assert result.result.compiled_on == {
        "driver": result.result.compiled_on["driver"],
        "driver_cuda": "13.0",
        "gpu": "stand-in for an NVIDIA A10G",
        "compute_capability": "8.6",
        "tensorrt": "10.13.3.9.post1",
        "image_cuda": "",
        "python": ".".join(map(str, sys.version_info[:3])),
    }
    assert progress[0].startswith("found driver")
    assert progress[1] == f"compiling job {job.digest}"
    (latency_ms,) = result.result.latency_ms
    assert latency_ms > 0
    assert f"[[1, 2]]: {latency_ms:.3f} ms" in progress


def test_killed_step_is_a_build_error(
    gpu: None, job: EngineJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killer = tmp_path / "killer"
    killer.mkdir()
    (killer / "tensorrt.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    monkeypatch.setenv("PYTHONPATH", f"{killer}:{STAND_IN}:{ROOT}")
    with pytest.raises(BuildError, match="the GPU step ended with exit code -9"):
        LocalGpu().run(job, to=tmp_path / "result", progress=ProgressLines())
