import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

from local_sagemaker.codebuild.phases import BuildFailed
from local_sagemaker.codebuild.sources import check_sources, download
from local_sagemaker.errors import ApiError

NO_SOURCE = {"type": "NO_SOURCE"}


def s3_source(location: str, **members: str) -> dict[str, str]:
    return {"type": "S3", "location": location, **members}


def zipped(**files: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


def files_of(folder: Path) -> dict[str, str]:
    result = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): file.read_text() for file in result}


@pytest.mark.parametrize("bucket", ["assets", "arn:aws:s3:::assets"])
def test_zip_file_is_unpacked(tmp_path: Path, s3: Any, bucket: str) -> None:
    s3.objects["assets", "code/src.zip"] = zipped(**{"setup.txt": "primary", "a/b.txt": "deep"})
    download(s3_source(f"{bucket}/code/src.zip"), tmp_path / "src", s3)
    assert files_of(tmp_path) == {"src/setup.txt": "primary", "src/a/b.txt": "deep"}


def test_folder_is_downloaded(tmp_path: Path, s3: Any) -> None:
    s3.objects.update({
        ("models", "jobs/1/job/"): b"",
        ("models", "jobs/1/job/job.json"): b"{}",
        ("models", "jobs/1/job/inputs/a.bin"): b"a",
        ("models", "jobs/1/job2/job.json"): b"another",
    })  # fmt: skip
    download(s3_source("models/jobs/1/job/"), tmp_path / "job", s3)
    assert files_of(tmp_path / "job") == {"job.json": "{}", "inputs/a.bin": "a"}


@pytest.mark.parametrize("has_folder_object", [False, True])
def test_empty_folder_is_an_error(tmp_path: Path, s3: Any, has_folder_object: bool) -> None:
    if has_folder_object:
        s3.objects["models", "job/"] = b""
    with pytest.raises(BuildFailed) as exc_info:
        download(s3_source("models/job/", sourceIdentifier="job"), tmp_path / "job", s3)
    assert exc_info.value.code == "CLIENT_ERROR"
    assert exc_info.value.message == (
        "no objects found for job source and source version arn:aws:s3:::models/job/"
    )


@pytest.mark.parametrize("key", ["job/../../a", "job//etc/a"])
def test_key_outside_the_folder_is_refused(tmp_path: Path, s3: Any, key: str) -> None:
    s3.objects["models", key] = b"a"
    with pytest.raises(BuildFailed, match="is outside the source folder for primary source"):
        download(s3_source("models/job/"), tmp_path / "job", s3)
    assert files_of(tmp_path) == {}


@pytest.mark.parametrize(("content", "message"), [(None, "NoSuchKey"), (b"a", "not a zip file")])
def test_missing_or_invalid_zip_file_is_an_error(
    tmp_path: Path, s3: Any, content: bytes | None, message: str
) -> None:
    if content is not None:
        s3.objects["assets", "src.zip"] = content
    with pytest.raises(BuildFailed, match=message) as exc_info:
        download(s3_source("assets/src.zip"), tmp_path / "src", s3)
    assert exc_info.value.message.endswith(
        " for primary source and source version arn:aws:s3:::assets/src.zip"
    )


@pytest.mark.parametrize(
    ("primary", "secondary", "message"),
    [
        ({"type": "GITHUB"}, [], "the local SageMaker supports S3 sources, not GITHUB"),
        (
            NO_SOURCE,
            [{"type": "CODECOMMIT"}],
            "the local SageMaker supports S3 sources, not CODEC",
        ),
        (
            {"type": "S3"},
            [],
            "Invalid project source: the location of an S3 source is <bucket>/<key>",
        ),
        (
            s3_source("bucket"),
            [],
            "Invalid project source: the location of an S3 source is <bucket>/<key>",
        ),
        (NO_SOURCE, [NO_SOURCE], "Invalid input: identifier must contain only alphanumeric"),
        (NO_SOURCE, [{**NO_SOURCE, "sourceIdentifier": "a/b"}], "Invalid input: identifier must"),
        (
            NO_SOURCE,
            [{**NO_SOURCE, "sourceIdentifier": "a" * 128}],
            "Invalid input: identifier must",
        ),
        (NO_SOURCE, [{**NO_SOURCE, "sourceIdentifier": "a"}] * 2, "Invalid input: identifier must"),
    ],
)
def test_invalid_source_is_refused(
    primary: dict[str, Any], secondary: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(ApiError) as exc_info:
        check_sources(primary, secondary)
    assert exc_info.value.code == "InvalidInputException"
    assert exc_info.value.message.startswith(message)
