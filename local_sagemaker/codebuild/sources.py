"""The files of a build: its sources, and the artifacts that it uploads."""

import shutil
import zipfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Record = dict[str, Any]


def download(source: Record, folder: Path, s3: "S3Client") -> None:
    """Download a ZIP file or a folder of S3 into a new folder.

    Raise `ValueError`, `BadZipFile`, and botocore's errors.

    A location that ends with a slash is a folder in S3 (API, ProjectSource, location).
    """
    folder.mkdir(parents=True)
    if source["type"] == "NO_SOURCE":
        return
    bucket, _, key = source["location"].removeprefix("arn:aws:s3:::").partition("/")
    if not key.endswith("/"):
        archive = folder.with_name(f"{folder.name}.zip")
        _download_file(s3, bucket, key, archive)
        with zipfile.ZipFile(archive) as zip_file:
            zip_file.extractall(folder)
        archive.unlink()
        return
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=key)
    keys = [content["Key"] for page in pages for content in page.get("Contents", [])]
    files = [name.removeprefix(key) for name in keys if not name.endswith("/")]
    if not files:  # no source
        raise ValueError("no objects found")
    for file in files:
        if file.startswith("/") or ".." in PurePosixPath(file).parts:
            raise ValueError(f"{file} is outside the source folder")
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        _download_file(s3, bucket, key + file, folder / file)


def _download_file(s3: "S3Client", bucket: str, key: str, path: Path) -> None:
    with path.open("wb") as file:
        shutil.copyfileobj(s3.get_object(Bucket=bucket, Key=key)["Body"], file)


def artifacts_key(settings: Record, build: str, file: str = "") -> str:
    """Return the key <path>/<build's UUID>/<name>/<file>, without empty parts."""
    uuid = build if settings["namespaceType"] == "BUILD_ID" else ""
    parts = [settings.get("path", ""), uuid, settings["name"], file]
    return "/".join(part.strip("/") for part in parts if part.strip("/"))


def matching_files(artifacts: Record | None, folder: Path) -> dict[str, Path]:
    """Return the files of a buildspec's artifacts by path relative to the base directory.

    The base directory is relative to the primary source (guide, build-spec-ref, artifacts). Raise
    `ValueError`; source of the messages: aws/aws-codebuild-docker-images#128, aws/aws-cdk's README
    of pipelines, and aws/copilot-cli#2780.
    """
    if artifacts is None:
        raise ValueError("no definition for primary artifacts in buildspec")
    base_directory = artifacts.get("base-directory", ".")
    base = folder / base_directory
    if not base.is_dir():
        raise ValueError(f"no matching base directory path found for {base_directory}")
    files = [file for pattern in artifacts["files"] for file in base.glob(pattern)]
    if not (matching := {str(file.relative_to(base)): file for file in files if file.is_file()}):
        raise ValueError("no matching artifact paths found")
    return matching
