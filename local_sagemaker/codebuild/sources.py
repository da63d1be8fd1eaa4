"""The sources of a build: ZIP files or folders in buckets."""

import re
import shutil
import zipfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from local_sagemaker.codebuild.phases import BuildFailed
from local_sagemaker.errors import ApiError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Record = dict[str, Any]
IDENTIFIER = re.compile(r"[A-Za-z0-9_]{1,127}")


def check_sources(primary: Record, secondary: list[Record]) -> None:
    """Raise `ApiError` for sources that are invalid or not emulated (API, ProjectSource)."""
    for source in (primary, *secondary):
        if source["type"] not in ("NO_SOURCE", "S3"):
            raise invalid_input(f"the local SageMaker supports S3 sources, not {source['type']}")
        if source["type"] == "S3" and "/" not in source.get("location", ""):
            raise invalid_input(
                "Invalid project source: the location of an S3 source is <bucket>/<key>"
            )
    identifiers = [source.get("sourceIdentifier", "") for source in secondary]
    if not all(map(IDENTIFIER.fullmatch, identifiers)) or len(set(identifiers)) < len(identifiers):
        raise invalid_input(
            "Invalid input: identifier must contain only alphanumeric characters and underscores "
            "and be less than 128 characters in length, and be unique"
        )


def download(source: Record, folder: Path, s3: "S3Client") -> None:
    """Download a source into a new folder. Raise `BuildFailed`.

    A location that ends with a slash is a folder in S3 (API, ProjectSource, location).
    """
    folder.mkdir(parents=True)
    if source["type"] == "NO_SOURCE":
        return
    bucket, _, key = source["location"].removeprefix("arn:aws:s3:::").partition("/")
    try:
        if source["location"].endswith("/"):
            _download_folder(s3, bucket, key, folder)
        else:
            _download_zip(s3, bucket, key, folder)
    except (ClientError, BotoCoreError, zipfile.BadZipFile, ValueError) as error:
        identifier = source.get("sourceIdentifier", "primary")
        raise BuildFailed(
            "CLIENT_ERROR",
            f"{error} for {identifier} source and source version arn:aws:s3:::{bucket}/{key}",
        ) from error


def _download_folder(s3: "S3Client", bucket: str, prefix: str, folder: Path) -> None:
    """Download all objects below a prefix. Raise `ValueError` if none exists (no source)."""
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    keys = [content["Key"] for page in pages for content in page.get("Contents", [])]
    files = [key.removeprefix(prefix) for key in keys if not key.endswith("/")]
    if not files:
        raise ValueError("no objects found")
    for file in files:
        if file.startswith("/") or ".." in PurePosixPath(file).parts:
            raise ValueError(f"{file} is outside the source folder")
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        _download_file(s3, bucket, prefix + file, folder / file)


def _download_zip(s3: "S3Client", bucket: str, key: str, folder: Path) -> None:
    archive = folder.with_name(f"{folder.name}.zip")
    _download_file(s3, bucket, key, archive)
    with zipfile.ZipFile(archive) as zip_file:
        zip_file.extractall(folder)
    archive.unlink()


def _download_file(s3: "S3Client", bucket: str, key: str, path: Path) -> None:
    with path.open("wb") as file:
        shutil.copyfileobj(s3.get_object(Bucket=bucket, Key=key)["Body"], file)


def invalid_input(message: str) -> ApiError:
    """Return an InvalidInputException."""
    return ApiError("InvalidInputException", message)
