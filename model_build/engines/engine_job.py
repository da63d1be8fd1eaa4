"""Engine jobs in folders, for the GPU step."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

import platform_facts
from model_build.engines.compatibility import Level
from model_build.gpu_step import job as gpu_job
from model_build.gpu_step.files import RawTensor, sha256
from model_build.recipe_values import Gate, Strict

Arrays = dict[str, npt.NDArray[Any]]
"""Tensors by name."""


Size = Annotated[int, Field(ge=1)]
Shape = Annotated[list[Size], Field(min_length=1)]


class Shapes(Strict):
    """The shapes of an input in an optimization profile, with the batch axis."""

    min: Shape
    opt: Shape
    max: Shape

    @model_validator(mode="after")
    def _check_order(self) -> "Shapes":
        if not len(self.min) == len(self.opt) == len(self.max):
            raise ValueError("min, opt and max have different numbers of axes: write all axes")
        for low, optimum, high in zip(self.min, self.opt, self.max, strict=True):
            if not low <= optimum <= high:
                raise ValueError("each axis needs min <= opt <= max")
        return self


class Engine(Strict):
    """The options with which TensorRT compiles an ONNX file.

    `precision` is that of matrix products and convolutions: `tf32` has FP32 numbers, but rounds
    them for Tensor Cores; `int8` quantizes weights, and inputs by their ranges in the compared
    cases.
    `profiles` are optimization profiles: shapes by input. Triton selects one by the index in
    `instance_group.profile`, by default the first. `workspace_mib` limits the scratch memory of a
    layer in MiB; None is TensorRT's default. `gate` limits the difference from the outputs of ONNX
    Runtime.
    """

    precision: Literal["fp32", "tf32", "fp16", "bf16", "int8"]
    profiles: Annotated[list[dict[str, Shapes]], Field(min_length=1)]
    workspace_mib: Annotated[int, Field(ge=1)] | None = None
    gate: Gate


@dataclass(frozen=True)
class EngineJob:
    """A job in `folder` for the TensorRT of `release`."""

    folder: Path
    job: gpu_job.Job
    release: platform_facts.Release

    @property
    def digest(self) -> str:
        """The SHA-256 of the job, 64 hex digits, which S3 keys of claims and results contain."""
        return self.job.digest

    @property
    def timing_cache(self) -> str:
        """The name of the timing cache for the job's GPU and TensorRT: 8.6-10.13.3.9."""
        return f"{self.job.compute_capability}-{self.job.tensorrt}"

    def files(self) -> dict[str, str]:
        """Return the SHA-256 of each file of the job except job.json, by name."""
        tensors = {tensor.file: tensor.sha256 for case in self.job.cases for tensor in case}
        return {gpu_job.ONNX: self.job.onnx_sha256, **tensors}


def write_job(
    folder: Path,
    *,
    onnx_file: Path,
    engine: Engine,
    hardware_compatibility_level: Level,
    compute_capability: platform_facts.ComputeCapability,
    release: platform_facts.Release,
    cases: list[Arrays],
    outputs: tuple[str, ...],
) -> EngineJob:
    """Write a job that compiles `onnx_file` on a GPU of `compute_capability` and runs `cases`.

    `compatibility_level` refuses a release whose TensorRT is not known.
    """
    assert release.tensorrt is not None
    folder.mkdir(parents=True)
    shutil.copyfile(onnx_file, folder / gpu_job.ONNX)
    job = gpu_job.Job(
        onnx_sha256=sha256(folder / gpu_job.ONNX),
        tensorrt=release.tensorrt,
        compute_capability=str(compute_capability),
        level=hardware_compatibility_level,
        precision=engine.precision,
        workspace_mib=engine.workspace_mib,
        profiles=[
            {name: shapes.model_dump() for name, shapes in profile.items()}
            for profile in engine.profiles
        ],
        outputs=list(outputs),
        cases=[_write_case(folder, index, arrays) for index, arrays in enumerate(cases)],
    )
    (folder / gpu_job.FILE).write_bytes(job.json_bytes())
    return EngineJob(folder, job, release)


def _write_case(folder: Path, case: int, arrays: Arrays) -> list[RawTensor]:
    tensors = []
    for index, (name, array) in enumerate(arrays.items()):
        path = folder / f"input-{case}-{index}.bin"
        path.write_bytes(np.ascontiguousarray(array).tobytes())
        tensors.append(
            RawTensor(name, str(array.dtype), list(array.shape), path.name, sha256(path))
        )
    return tensors
