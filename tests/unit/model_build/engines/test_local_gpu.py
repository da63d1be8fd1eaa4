"""The GPU step as a process, on a machine whose GPU is a stand-in."""

import ctypes
import sys
from pathlib import Path

import pytest

from model_build import BuildError
from model_build.engines.engine_job import EngineJob
from model_build.engines.engine_result import EngineResult
from model_build.engines.local_gpu import LocalGpu
from tests.gpu_stand_in.driver_stand_in import DriverStandIn
from tests.unit.model_build.engines.conftest import INPUT
from tests.unit.model_build.fakes import Lines

ROOT = Path(__file__).parents[4]
STAND_IN = ROOT / "tests" / "gpu_stand_in"


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes see the stand-in's GPU and TensorRT."""
    monkeypatch.setenv("PYTHONPATH", f"{STAND_IN}:{ROOT}")
    monkeypatch.delenv("CUDA_VERSION", raising=False)
    monkeypatch.delenv("STAND_IN_TENSORRT", raising=False)


def test_a_job_is_compiled_and_its_engine_run(gpu: None, job: EngineJob, tmp_path: Path) -> None:
    message = Lines()
    LocalGpu().run(job, to=tmp_path / "result", progress=message)
    result = EngineResult.read(tmp_path / "result", job)
    assert result.plan.read_bytes().startswith(b"a stand-in's plan")
    ((answer,),) = [list(case.values()) for case in result.answers()]
    assert (answer == INPUT).all()
    version = ".".join(map(str, sys.version_info[:3]))
    assert result.result.compiled_on == {
        "driver": result.result.compiled_on["driver"],
        "driver_cuda": "13.0",
        "gpu": "stand-in for an NVIDIA A10G",
        "compute_capability": "8.6",
        "tensorrt": "10.13.3.9",
        "image_cuda": "",
        "python": version,
    }
    assert message[0].startswith("found driver")
    assert message[1] == f"compiling job {job.digest}"


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        (
            {"STAND_IN_TENSORRT": "10.9.0.34"},
            "this machine has TensorRT 10.9.0.34, the job is for 10.13.3.9",
        ),
        ({"STAND_IN_TENSORRT": "10.13.3.8"}, "write it into platform_facts/releases.toml"),
        ({"CUDA_VERSION": "14.0.0"}, "supports CUDA 13.0, this image has CUDA 14.0.0"),
    ],
)
def test_another_machine_than_the_jobs_writes_no_result(
    gpu: None,
    job: EngineJob,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    message: str,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(BuildError) as refused:
        LocalGpu().run(job, to=tmp_path / "result", progress=Lines())
    assert message in str(refused.value)
    assert not (tmp_path / "result").exists()


def test_a_tensorrt_with_a_suffix_to_its_version_is_the_same(
    gpu: None, job: EngineJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_TENSORRT", "10.13.3.9.post1")  # PyPI's repair of 10.13.3.9
    LocalGpu().run(job, to=tmp_path / "result", progress=Lines())
    assert EngineResult.read(tmp_path / "result", job)


def test_without_a_driver_a_job_ends_in_a_line(
    job: EngineJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        pass
    else:
        pytest.skip("this machine has a driver")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with pytest.raises(BuildError, match=r"^this machine has no NVIDIA driver"):
        LocalGpu().run(job, to=tmp_path / "result", progress=Lines())


def test_a_step_that_is_killed_is_told(
    gpu: None, job: EngineJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killer = tmp_path / "killer"
    killer.mkdir()
    (killer / "tensorrt.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    monkeypatch.setenv("PYTHONPATH", f"{killer}:{STAND_IN}:{ROOT}")
    with pytest.raises(BuildError, match="the GPU step ended with exit code -9"):
        LocalGpu().run(job, to=tmp_path / "result", progress=Lines())


def test_without_a_gpu_the_ways_out_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VERSION", raising=False)
    monkeypatch.setattr(ctypes, "CDLL", lambda _: DriverStandIn(fails="cuInit"))
    with pytest.raises(BuildError, match="or build for a cpu target, which serves the model"):
        LocalGpu().compute_capability()
