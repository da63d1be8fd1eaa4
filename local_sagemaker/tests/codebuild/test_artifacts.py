from pathlib import Path
from typing import Any

import pytest

from local_sagemaker.codebuild.artifacts import BuildOutput, check_artifacts
from local_sagemaker.codebuild.buildspec import Artifacts
from local_sagemaker.codebuild.phases import BuildFailed
from local_sagemaker.errors import ApiError
from local_sagemaker.tests.codebuild.conftest import UUID

ARN = f"arn:aws:codebuild:us-east-1:000000000000:build/builder:{UUID}"
KEY = "arn:aws:kms:us-east-1:000000000000:key/1"
S3 = {"type": "S3", "location": "models", "name": "/", "namespaceType": "NONE", "packaging": "NONE"}


def output(s3: Any, *, key: str = KEY, **settings: Any) -> BuildOutput:
    return BuildOutput({**S3, **settings}, ARN, key, s3)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A primary source with a folder of results."""
    (tmp_path / "src" / "result" / "deep").mkdir(parents=True)
    for name in ("setup.py", "result/plan", "result/.hidden", "result/deep/a.bin"):
        (tmp_path / "src" / name).write_text(name)
    return tmp_path / "src"


def upload(target: BuildOutput, sources: Path, *files: str, base: str = "result") -> None:
    target.upload(Artifacts(files or ("**/*",), base), sources)


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({}, ""),
        ({"path": "raw"}, "raw/"),
        ({"path": "/a/raw/", "namespaceType": "BUILD_ID"}, f"a/raw/{UUID}/"),
        ({"path": "raw", "namespaceType": "NONE", "name": "b/out"}, "raw/b/out/"),
        ({"namespaceType": "BUILD_ID", "name": "out"}, f"{UUID}/out/"),
    ],
)
def test_keys_of_uploaded_files(s3: Any, sources: Path, settings: dict[str, str], key: str) -> None:
    target = output(s3, **settings)
    upload(target, sources)
    assert s3.objects == {
        ("models", f"{key}{name}"): f"result/{name}".encode()
        for name in ("plan", ".hidden", "deep/a.bin")
    }
    assert target.record["location"] == f"arn:aws:s3:::models/{key.removesuffix('/')}"


@pytest.mark.parametrize(
    ("files", "base", "message"),
    [
        (["none"], "result", "no matching artifact paths found"),
        (["deep"], "result", "no matching artifact paths found"),
        (["**/*"], "out", "no matching base directory path found for out"),
        (["**/*"], "setup.py", "no matching base directory path found for setup.py"),
    ],
)
def test_missing_artifacts_are_an_error(
    s3: Any, sources: Path, files: list[str], base: str, message: str
) -> None:
    with pytest.raises(BuildFailed) as exc_info:
        upload(output(s3), sources, *files, base=base)
    assert (exc_info.value.code, exc_info.value.message) == ("CLIENT_ERROR", message)
    assert s3.objects == {}


def test_missing_bucket_is_an_error(s3: Any, sources: Path) -> None:
    with pytest.raises(
        BuildFailed, match=r"^Failed to upload artifacts: no such bucket$"
    ) as exc_info:
        upload(output(s3, location="none"), sources)
    assert exc_info.value.code == "CLIENT_ERROR"


def test_project_without_artifacts_uploads_nothing(s3: Any, sources: Path) -> None:
    target = BuildOutput({"type": "NO_ARTIFACTS"}, ARN, KEY, s3)
    assert target.record == {"location": ""}
    target.upload(None, sources)
    assert s3.objects == {}
    with pytest.raises(BuildFailed, match=r"^no definition for primary artifacts in buildspec$"):
        output(s3).upload(None, sources)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"type": "CODEPIPELINE"},
            "the local SageMaker does not support type CODEPIPELINE: use S3",
        ),
        ({"type": "NO_ARTIFACTS", "name": "a"}, "artifact type NO_ARTIFACTS should have null"),
        ({**S3, "location": "a/b"}, "location must be the name of the output bucket"),
        ({**S3, "name": ""}, "name is missing: use the name of the artifact, or"),
        (
            {**S3, "packaging": "ZIP"},
            "the local SageMaker does not support packaging ZIP: use NONE",
        ),
    ],
)
def test_invalid_artifacts_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ApiError) as exc_info:
        check_artifacts(settings)
    assert exc_info.value.code == "InvalidInputException"
    assert exc_info.value.message.startswith(f"Invalid artifacts: {message}")
