"""A small engine job and its result."""

from pathlib import Path

import numpy as np
import pytest

import platform_facts
from model_build.engines import engine_job
from model_build.engines.engine_job import Engine, EngineJob
from model_build.engines.engine_result import EngineResult
from model_build.gpu_step.files import RawTensor, sha256
from model_build.gpu_step.result import FILE, PLAN, JobResult
from tests.unit.model_build.checks.cases import files

ENGINE = Engine.model_validate(
    {
        "precision": "fp32",
        "profiles": [{"X": {"min": [1, 2], "opt": [2, 2], "max": [4, 2]}}],
        "gate": {"max_absolute_difference": 0.01},
    }
)
INPUT = np.array([[1.0, -2.0]], "float32")


def write_job(folder: Path, *, release: str = "25.09", engine: Engine = ENGINE) -> EngineJob:
    """Write an engine job for the GPU of CodeBuild."""
    folder.mkdir(parents=True)
    (folder / "exported.onnx").write_bytes(files.onnx({"X": ["batch", 2]}, {"Y": ["batch", 2]}))
    return engine_job.write_job(
        folder / "job",
        onnx_file=folder / "exported.onnx",
        engine=engine,
        hardware_compatibility_level="ampere-plus",
        compute_capability=platform_facts.codebuild_gpu().compute_capability,
        release=platform_facts.release(release),
        cases=[{"X": INPUT}],
        outputs=("Y",),
    )


def write_result(
    folder: Path, job: EngineJob, *, plan: bytes = b"a plan", timing_cache: str = ""
) -> EngineResult:
    """Write a result of `job`; its engine returns its input."""
    folder.mkdir(parents=True)
    (folder / PLAN).write_bytes(plan)
    (folder / "output-0-0.bin").write_bytes(INPUT.tobytes())
    y = RawTensor("Y", "float32", [1, 2], "output-0-0.bin", sha256(folder / "output-0-0.bin"))
    origin = {"gpu": "NVIDIA A10G"}
    result = JobResult(job.digest, sha256(folder / PLAN), [[y]], origin, [0.5], timing_cache)
    (folder / FILE).write_bytes(result.json_bytes())
    return EngineResult.read(folder, job)


@pytest.fixture
def job(tmp_path: Path) -> EngineJob:
    return write_job(tmp_path / "a-job")
