"""The GPU step as a process on this machine, with a fake GPU and TensorRT."""

from pathlib import Path

import pytest

from model_build import BuildError
from model_build.engines.engine_job import EngineJob
from model_build.engines.local_gpu import LocalGpu
from tests.unit.model_build.fakes import ProgressLines

ROOT = Path(__file__).parents[4]
STAND_IN = ROOT / "tests" / "gpu_stand_in"


def test_killed_step_is_a_build_error(
    job: EngineJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killer = tmp_path / "killer"
    killer.mkdir()
    (killer / "tensorrt.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    monkeypatch.setenv("PYTHONPATH", f"{killer}:{STAND_IN}:{ROOT}")
    monkeypatch.delenv("CUDA_VERSION", raising=False)
    with pytest.raises(BuildError, match="the GPU step ended with exit code -9"):
        LocalGpu().run(job, to=tmp_path / "result", progress=ProgressLines())
