"""Compile one engine job, run the engine on the job's inputs, and write the result."""

import hashlib
import importlib
import platform
import shutil
import sys
import traceback
from pathlib import Path
from typing import Any

from . import job as gpu_job
from .compiler import compile_engine, load_engine
from .driver import Driver, image_cuda
from .errors import StepError
from .logger import TensorRtLog
from .result import FILE, PLAN, JobResult
from .runner import EngineRunner

USAGE = "usage: python3 -m gpu_step JOB RESULT: two folders; RESULT is created"


def main(arguments: list[str]) -> int:
    """Run one job; return the exit code: 0, 1 if it failed, 2 for wrong arguments."""
    if len(arguments) != 2:
        print(USAGE, file=sys.stderr)
        return 2
    job, to = map(Path, arguments)
    try:
        _run(job, to)
    except StepError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 1
    except Exception as error:  # messages of failed builds show only the line with "error:"
        traceback.print_exc()
        print(f"error: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


def _run(folder: Path, to: Path) -> None:
    folder = gpu_job.find_job_folder(folder)
    job = gpu_job.read(folder)
    driver = Driver()
    # After Driver(): without a driver, TensorRT stops the process with a segmentation fault.
    trt = _import_tensorrt()
    compiled_on = {
        "driver": driver.version,
        "driver_cuda": driver.cuda,
        "gpu": driver.gpu,
        "compute_capability": driver.compute_capability,
        "tensorrt": trt.__version__,
        "image_cuda": image_cuda(),
        "python": platform.python_version(),
    }
    _log("found " + ", ".join(f"{name} {value or '?'}" for name, value in compiled_on.items()))
    _check_machine(job, driver, trt)
    driver.activate()
    _log(f"compiling job {job.digest}")
    log = TensorRtLog(trt, _log)
    cache_file = folder / gpu_job.TIMING_CACHE
    earlier_times = cache_file.read_bytes() if cache_file.is_file() else b""
    plan, times = compile_engine(
        trt, folder / gpu_job.ONNX, job, log=log, timing_cache=earlier_times
    )
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    (to / PLAN).write_bytes(plan)
    (to / gpu_job.TIMING_CACHE).write_bytes(times)
    _log(f"running the engine ({len(plan) / 1e6:.1f} MB) on {len(job.cases)} sets of inputs")
    runtime = trt.Runtime(log.logger)
    engine = load_engine(trt, runtime, plan, level=job.level, log=log)
    runner = EngineRunner(trt, engine, driver, log)
    outputs, latencies = [], []
    for index, case in enumerate(job.cases):
        tensors, latency_ms = runner.run(
            case, job.outputs, input_folder=folder, to=to, prefix=f"output-{index}"
        )
        _log(f"{[tensor.shape for tensor in case]}: {latency_ms:.3f} ms")
        outputs.append(tensors)
        latencies.append(latency_ms)
    result = JobResult(
        job.digest,
        hashlib.sha256(plan).hexdigest(),
        outputs,
        compiled_on,
        latencies,
        hashlib.sha256(earlier_times).hexdigest() if earlier_times else "",
    )
    partial_file = to / f".{FILE}"
    partial_file.write_bytes(result.json_bytes())
    partial_file.replace(to / FILE)
    _log("done: the build that started this job checks the result")


def _import_tensorrt() -> Any:
    try:
        return importlib.import_module("tensorrt")
    except ImportError as error:
        raise StepError(
            f"TensorRT cannot be imported ({error}): run the step in nvcr.io/nvidia/tensorrt of "
            "the release, or where requirements/gpu.txt is installed"
        ) from None


def _check_machine(job: gpu_job.Job, driver: Driver, trt: Any) -> None:
    """Raise `StepError` unless TensorRT and the GPU match the job."""
    installed, required = (version.split(".") for version in (trt.__version__, job.tensorrt))
    if installed[: len(required)] != required:
        raise StepError(
            f"this machine has TensorRT {trt.__version__}, the job is for {job.tensorrt}, which "
            "does not load plans of other versions. If, by NVIDIA's release notes, the release's "
            f"Triton image has {trt.__version__}, write that into platform_facts/releases.toml"
        )
    if driver.compute_capability != job.compute_capability:
        raise StepError(
            f"this machine's {driver.gpu} has compute capability {driver.compute_capability}, the "
            f"job needs {job.compute_capability}"
        )


def _log(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
