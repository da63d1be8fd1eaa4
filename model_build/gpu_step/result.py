"""The result of the GPU step: the plan, the engine's outputs, and the machine."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .errors import StepError
from .files import RawTensor, check_sha256, read_tensor

FILE = "result.json"
PLAN = "model.plan"


class JobResult(NamedTuple):
    """The result of the job with the digest `job`; its JSON is written after all other files.

    `outputs` are the engine's outputs per case. `compiled_on` has the versions of driver, GPU, CUDA
    and TensorRT. `latency_ms` is the median time of the engine per case. `timing_cache` is the
    SHA-256 of the timing cache with which the compilation began, empty without one.
    """

    job: str
    plan_sha256: str
    outputs: list[list[RawTensor]]
    compiled_on: dict[str, str]
    latency_ms: Sequence[float] = ()
    timing_cache: str = ""

    def files(self) -> dict[str, str]:
        """Return the SHA-256 of the result's files, by name."""
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


def parse(content: bytes, *, display_path: str) -> JobResult:
    """Return the result of a JSON text. Raise `StepError`."""
    try:
        fields = json.loads(content)
        outputs = [[read_tensor(tensor) for tensor in case] for case in fields.pop("outputs")]
        return JobResult(outputs=outputs, **fields)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StepError(f"{display_path} is not the result of an engine job: {error}") from None


def read(folder: Path, *, job: str) -> JobResult:
    """Read the result of `job` and check its files. Raise `StepError`."""
    path = folder / FILE
    if not path.is_file():
        raise StepError(f"{path} is missing: the GPU step did not finish")
    result = parse(path.read_bytes(), display_path=str(path))
    if result.job != job:
        raise StepError(f"{path} is the result of job {result.job}, not of {job}")
    for name, sha256 in result.files().items():
        check_sha256(folder / name, sha256)
    return result
