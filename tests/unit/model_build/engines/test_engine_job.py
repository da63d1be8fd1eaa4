"""Engine jobs and their results: content, digest and validation."""

from pathlib import Path
from typing import Any

import pytest

from model_build import BuildError
from model_build.engines.engine_job import EngineJob
from model_build.engines.engine_result import EngineResult
from model_build.gpu_step import job as gpu_job
from model_build.gpu_step.errors import StepError
from tests.unit.model_build.engines.conftest import INPUT, write_job, write_result


def test_step_reads_the_written_job(job: EngineJob) -> None:
    assert gpu_job.read(job.folder) == job.job
    (tensor,) = job.job.cases[0]
    assert (tensor.name, tensor.datatype, tensor.shape) == ("X", "float32", [1, 2])
    assert (job.folder / tensor.file).read_bytes() == INPUT.tobytes()
    assert set(job.files()) == {"model.onnx", tensor.file}


@pytest.mark.parametrize("subfolder", ["", "job", "bucket/engine-jobs/0a/job"])
def test_job_is_read_from_any_subfolder(tmp_path: Path, subfolder: str) -> None:
    job = write_job(tmp_path / "src" / subfolder)
    (tmp_path / "src" / "a").mkdir(exist_ok=True)
    assert gpu_job.find_job_folder(tmp_path / "src") == job.folder
    assert (
        gpu_job.find_job_folder(tmp_path / "src" / "a") == tmp_path / "src" / "a"
    )  # `read` raises the error


def test_digest_does_not_depend_on_the_folder(job: EngineJob, tmp_path: Path) -> None:
    assert write_job(tmp_path / "other").digest == job.digest


@pytest.mark.parametrize("name", ["model.onnx", "input-0-0.bin"])
def test_changed_or_missing_job_file_is_refused(job: EngineJob, name: str) -> None:
    (job.folder / name).write_bytes(b"other")
    with pytest.raises(StepError, match=rf"{name} does not match its SHA-256"):
        gpu_job.read(job.folder)
    (job.folder / name).unlink()
    with pytest.raises(StepError, match=rf"{name} is missing"):
        gpu_job.read(job.folder)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 1, "cases": [1]}'])
def test_invalid_job_file_is_refused(job: EngineJob, content: str) -> None:
    (job.folder / gpu_job.FILE).write_text(content)
    with pytest.raises(StepError, match=r"job\.json is not an engine job: "):
        gpu_job.read(job.folder)


def test_result_of_another_job_is_refused(job: EngineJob, tmp_path: Path) -> None:
    write_result(tmp_path / "result", job)
    other_job = write_job(tmp_path / "other", release="25.04")
    with pytest.raises(BuildError, match=rf"is the result of job {job.digest}, not of"):
        EngineResult.read(tmp_path / "result", other_job)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"outputs": []}, r"has the outputs \[\], not the job's \['Y'\] in each of 1 cases"),
        ({"datatype": "object"}, r"has 8 bytes, which are no object of shape \[1, 2\]"),
        ({"shape": [1, 3]}, r"has 8 bytes, which are no float32 of shape \[1, 3\]"),
        ({"name": "Z"}, r"has the outputs \[\['Z'\]\], not the job's \['Y'\]"),
    ],
)
def test_result_with_wrong_outputs_is_refused(
    job: EngineJob, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    result = write_result(tmp_path / "result", job).result
    ((tensor,),) = result.outputs
    wrong_result = result._replace(
        outputs=changes["outputs"] if "outputs" in changes else [[tensor._replace(**changes)]]
    )
    (tmp_path / "result" / "result.json").write_bytes(wrong_result.json_bytes())
    with pytest.raises(BuildError, match=message):
        EngineResult.read(tmp_path / "result", job)
