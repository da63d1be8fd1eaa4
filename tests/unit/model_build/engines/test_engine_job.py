"""A job is named by all that decides the engine and its answers, and by nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from model_build import BuildError
from model_build.engines.engine_job import EngineJob
from model_build.engines.engine_result import EngineResult
from model_build.gpu_step import job as step
from model_build.gpu_step.errors import StepError
from tests.unit.model_build.engines.conftest import INPUT, write_job, write_result


def test_the_step_reads_what_the_build_wrote(job: EngineJob) -> None:
    assert step.read(job.folder) == job.job
    (tensor,) = job.job.cases[0]
    assert (tensor.name, tensor.datatype, tensor.shape) == ("X", "float32", [1, 2])
    assert (job.folder / tensor.file).read_bytes() == INPUT.tobytes()
    assert set(job.files()) == {"model.onnx", tensor.file}


@pytest.mark.parametrize("below", ["", "job", "bucket/engine-jobs/0a/job"])
def test_a_job_is_found_wherever_codebuild_puts_the_files_of_a_folder(
    tmp_path: Path, below: str
) -> None:
    written = write_job(tmp_path / "src" / below)
    (tmp_path / "src" / "a").mkdir(exist_ok=True)
    assert step.find(tmp_path / "src") == written.folder
    assert step.find(tmp_path / "src" / "a") == tmp_path / "src" / "a"  # and `read` says the rest


def test_the_same_job_has_the_same_name_in_any_folder(job: EngineJob, tmp_path: Path) -> None:
    assert write_job(tmp_path / "elsewhere").digest == job.digest


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("onnx_sha256", "f" * 64),
        ("tensorrt", "10.9.0.34"),
        ("compute_capability", "8.9"),
        ("level", "none"),
        ("precision", "fp16"),
        ("workspace_mib", 64),
        ("profiles", []),
        ("outputs", ["Z"]),
        ("cases", []),
    ],
)
def test_whatever_decides_an_engine_changes_its_jobs_name(
    job: EngineJob, field: str, value: Any
) -> None:
    assert field in step.Job._fields
    assert job.job._replace(**{field: value}).digest != job.digest


def test_every_field_of_a_job_is_in_the_list_above() -> None:
    (mark,) = test_whatever_decides_an_engine_changes_its_jobs_name.pytestmark
    assert [field for field, _ in mark.args[1]] == list(step.Job._fields)


def test_a_release_whose_tensorrt_nobody_knows_has_no_engines(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"the TensorRT version of Triton 22\.05 is not known"):
        write_job(tmp_path / "old", release="22.05")


@pytest.mark.parametrize("name", ["model.onnx", "input-0-0.bin"])
def test_a_job_that_was_changed_on_its_way_is_refused(job: EngineJob, name: str) -> None:
    (job.folder / name).write_bytes(b"other")
    with pytest.raises(StepError, match=rf"{name} does not match its SHA-256"):
        step.read(job.folder)
    (job.folder / name).unlink()
    with pytest.raises(StepError, match=rf"{name} is missing"):
        step.read(job.folder)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 1, "cases": [1]}'])
def test_what_is_no_job_is_refused(job: EngineJob, content: str) -> None:
    (job.folder / step.FILE).write_text(content)
    with pytest.raises(StepError, match=r"job\.json is not an engine job: "):
        step.read(job.folder)


def test_a_job_of_another_format_is_refused(job: EngineJob) -> None:
    content = json.loads((job.folder / step.FILE).read_text())
    (job.folder / step.FILE).write_text(json.dumps({**content, "format": 0}))
    with pytest.raises(StepError, match="has format 0, this step reads 1: deploy again"):
        step.read(job.folder)


def test_a_result_is_what_the_step_wrote(job: EngineJob, tmp_path: Path) -> None:
    result = write_result(tmp_path / "result", job)
    assert result.plan.read_bytes() == b"a plan"
    ((answer,),) = [list(case.values()) for case in result.answers()]
    assert (answer == INPUT).all()


def test_a_result_of_another_job_is_refused(job: EngineJob, tmp_path: Path) -> None:
    write_result(tmp_path / "result", job)
    other = write_job(tmp_path / "other", release="25.04")
    with pytest.raises(BuildError, match=rf"is the result of job {job.digest}, not of"):
        EngineResult.read(tmp_path / "result", other)


def test_what_is_no_result_is_refused(job: EngineJob, tmp_path: Path) -> None:
    write_result(tmp_path / "result", job)
    (tmp_path / "result" / "result.json").write_text('{"outputs": 3}')
    with pytest.raises(BuildError, match=r"result\.json is not the result of an engine job"):
        EngineResult.read(tmp_path / "result", job)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"outputs": []}, r"has the outputs \[\], not the job's \['Y'\] in each of 1 cases"),
        ({"datatype": "object"}, r"has 8 bytes, which are no object of shape \[1, 2\]"),
        ({"shape": [1, 3]}, r"has 8 bytes, which are no float32 of shape \[1, 3\]"),
        ({"name": "Z"}, r"has the outputs \[\['Z'\]\], not the job's \['Y'\]"),
    ],
)
def test_a_result_that_does_not_fit_its_job_is_refused(
    job: EngineJob, tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    good = write_result(tmp_path / "result", job).result
    ((tensor,),) = good.outputs
    lying = good._replace(
        outputs=changed["outputs"] if "outputs" in changed else [[tensor._replace(**changed)]]
    )
    (tmp_path / "result" / "result.json").write_bytes(lying.json_bytes())
    with pytest.raises(BuildError, match=message):
        EngineResult.read(tmp_path / "result", job)
