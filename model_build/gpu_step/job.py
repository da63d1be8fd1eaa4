"""An engine job: an ONNX file to compile, and inputs to run the engine on."""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from .errors import StepError
from .files import RawTensor, check_sha256, read_tensor

FILE = "job.json"
ONNX = "model.onnx"
TIMING_CACHE = "timing.cache"
"""Times of TensorRT's tactics from earlier compilations: optional, and not part of the job."""
FORMAT = 1
"""Increment it if a change to the step changes engines: all engines are then compiled again."""

NONE, AMPERE_PLUS = "none", "ampere-plus"


class Job(NamedTuple):
    """The input of the GPU step.

    `tensorrt` is the required version, possibly only its first numbers. `compute_capability` is
    that of the compiling GPU. `level` is TensorRT's hardware compatibility level, `none` or
    `ampere-plus`. `precision` is `fp32`, `tf32`, `fp16`, `bf16` or `int8`. `profiles` are
    optimization profiles: input -> min, opt and max -> shape. `cases` are sets of inputs, `outputs`
    the names of the outputs.
    """

    onnx_sha256: str
    tensorrt: str
    compute_capability: str
    level: str
    precision: str
    workspace_mib: int | None
    profiles: list[dict[str, dict[str, list[int]]]]
    outputs: list[str]
    cases: list[list[RawTensor]]

    def json_bytes(self) -> bytes:
        """Return the job as JSON, which has the same bytes for equal jobs."""
        content: dict[str, Any] = {
            **self._asdict(),
            "format": FORMAT,
            "cases": [[tensor._asdict() for tensor in case] for case in self.cases],
        }
        return json.dumps(content, indent=1, sort_keys=True).encode() + b"\n"

    @property
    def digest(self) -> str:
        """The SHA-256 of the JSON, in hex; it covers the files, whose digests the JSON has."""
        return hashlib.sha256(self.json_bytes()).hexdigest()


def find_job_folder(folder: Path) -> Path:
    """Return the folder of the job at or below `folder`.

    The paths that CodeBuild creates for a source folder in S3 are not documented.
    """
    return next((path.parent for path in sorted(folder.rglob(FILE))), folder)


def read(folder: Path) -> Job:
    """Read a job and check its files. Raise `StepError`."""
    path = folder / FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        format_ = content.pop("format")
        if format_ != FORMAT:
            raise StepError(f"{path} has format {format_}, this step reads {FORMAT}: deploy again")
        cases = [[read_tensor(tensor) for tensor in case] for case in content.pop("cases")]
        job = Job(cases=cases, **content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StepError(f"{path} is not an engine job: {error}") from None
    check_sha256(folder / ONNX, job.onnx_sha256)
    for case in job.cases:
        for tensor in case:
            check_sha256(folder / tensor.file, tensor.sha256)
    return job
