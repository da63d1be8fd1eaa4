from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from model_build.checks.version_files import version_files
from model_build.repository import Repository

if TYPE_CHECKING:
    from tests.unit.model_build.conftest import WriteFiles


def _findings(folder: Path, write_files: "WriteFiles", files: dict[str, str]) -> list[str]:
    return list(version_files(Repository.read(write_files(folder, files))))


@pytest.mark.parametrize(
    ("config", "file"),
    [
        ('backend: "python"', "model.py"),
        ('backend: "onnxruntime"', "model.onnx"),
        ('platform: "onnxruntime_onnx"', "model.onnx"),
        ('backend: "pytorch"', "model.pt"),
        ('platform: "pytorch_libtorch"', "model.pt"),
        ('backend: "tensorrt"', "model.plan"),
        ('platform: "tensorrt_plan"', "model.plan"),
        ('backend: "dali"', "model.dali"),
        ('platform: "tensorflow_graphdef"', "model.graphdef"),
        ('platform: "tensorflow_savedmodel"', "model.savedmodel"),
        ('backend: "tensorflow" platform: "tensorflow_savedmodel"', "model.savedmodel"),
        ('backend: "onnxruntime" default_model_filename: "encoder.onnx"', "encoder.onnx"),
    ],
)
def test_the_file_that_a_backend_opens_must_be_there(
    tmp_path: Path, write_files: "WriteFiles", config: str, file: str
) -> None:
    complete = {"a/config.pbtxt": config, f"a/1/{file}": ""}
    assert _findings(tmp_path / "complete", write_files, complete) == []
    broken = {"a/config.pbtxt": config, "a/1/other.bin": "", f"a/{file}": ""}
    (finding,) = _findings(tmp_path / "broken", write_files, broken)
    assert finding.startswith(f"{tmp_path}/broken/a/1/{file} is missing: the ")


def test_a_missing_file_is_named_with_its_backend(
    tmp_path: Path, write_files: "WriteFiles"
) -> None:
    files = {"a/config.pbtxt": 'platform: "onnxruntime_onnx"', "a/1/model.pt": ""}
    assert _findings(tmp_path, write_files, files) == [
        f"{tmp_path}/a/1/model.onnx is missing: the onnxruntime backend opens it"
    ]


def test_every_version_has_its_file(tmp_path: Path, write_files: "WriteFiles") -> None:
    files = {
        "a/config.pbtxt": 'backend: "python"',
        "a/1/model.py": "",
        "a/2/model.txt": "",
        "a/data/words.txt": "",
    }
    assert _findings(tmp_path, write_files, files) == [
        f"{tmp_path}/a/2/model.py is missing: the python backend opens it"
    ]


@pytest.mark.parametrize("file", ["model.py", "v1/model.py", "one/model.py"])
def test_a_model_without_a_numeric_version_is_refused(
    tmp_path: Path, write_files: "WriteFiles", file: str
) -> None:
    files = {"a/config.pbtxt": 'backend: "python"', f"a/{file}": ""}
    assert _findings(tmp_path, write_files, files) == [f"{tmp_path}/a: no version: add a folder 1/"]


def test_an_ensemble_needs_a_version_and_no_file(tmp_path: Path, write_files: "WriteFiles") -> None:
    files = {"a/config.pbtxt": 'platform: "ensemble"'}
    assert _findings(tmp_path, write_files, files) == [f"{tmp_path}/a: no version: add a folder 1/"]
    (tmp_path / "a" / "1").mkdir()
    assert _findings(tmp_path, write_files, files) == []


@pytest.mark.parametrize(
    ("config", "name"), [('backend: "onnx"', "onnx"), ('platform: "caffe2"', "caffe2"), ("", "")]
)
def test_a_backend_that_is_none_is_refused_with_those_there_are(
    tmp_path: Path, write_files: "WriteFiles", config: str, name: str
) -> None:
    files = {"a/config.pbtxt": config, "a/1/model.onnx": ""}
    assert _findings(tmp_path, write_files, files) == [
        f'{tmp_path}/a/config.pbtxt: backend "{name}" is none that SageMaker\'s Triton has: write '
        "one of dali, onnxruntime, python, pytorch, tensorflow, tensorrt"
    ]
