"""The result of the GPU step: the plan, the engine's outputs, and the machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from .errors import StepError
from .files import RawTensor, read_tensor, require

FILE = "result.json"
PLAN = "model.plan"


class JobResult(NamedTuple):
    """A result of the job whose digest is `job`; written last, so that none is half written.

    `outputs` has what each case of the job gave. `compiled_on` says driver, GPU, CUDA, TensorRT.
    """

    job: str
    plan_sha256: str
    outputs: list[list[RawTensor]]
    compiled_on: dict[str, str]

    def files(self) -> dict[str, str]:
        """Return the result's files: name -> SHA-256."""
        return {
            PLAN: self.plan_sha256,
            **{tensor.file: tensor.sha256 for case in self.outputs for tensor in case},
        }

    def json_bytes(self) -> bytes:
        """Return the result as JSON."""
        content: dict[str, Any] = {
            **self._asdict(),
            "outputs": [[tensor._asdict() for tensor in case] for case in self.outputs],
        }
        return json.dumps(content, indent=1, sort_keys=True).encode() + b"\n"


def parse(content: bytes, *, shown_as: str) -> JobResult:
    """Read a result's JSON. Raises `StepError`."""
    try:
        written = json.loads(content)
        outputs = [[read_tensor(tensor) for tensor in case] for case in written.pop("outputs")]
        return JobResult(outputs=outputs, **written)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StepError(f"{shown_as} is not the result of an engine job: {error}") from None


def read(folder: Path, *, job: str) -> JobResult:
    """Read the result of `job` and check its files. Raises `StepError`."""
    path = folder / FILE
    if not path.is_file():
        raise StepError(f"{path} is missing: the step that should have written it did not end")
    result = parse(path.read_bytes(), shown_as=str(path))
    if result.job != job:
        raise StepError(f"{path} is the result of job {result.job}, not of {job}")
    for name, sha256 in result.files().items():
        require(folder / name, sha256)
    return result
