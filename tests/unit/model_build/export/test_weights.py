"""Download of weights: cached, and checked against the SHA-256 values of the recipe."""

import hashlib
import shutil
from pathlib import Path
from typing import Any

import pytest

from model_build import BuildError
from model_build.export.weights import fetch
from model_build.recipe import Recipe
from tests.unit.model_build.fakes import FakeS3, ProgressLines

CONTENT = {"model.bin": b"weights", "config.json": b"{}"}


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _weights(origin: str, **fields: Any) -> Any:
    files = {name: _sha256(content) for name, content in CONTENT.items()}
    weights = {"from": origin, "files": files, **fields}
    return Recipe.model_validate({"description": "", "weights": weights}).weights


def _fetch(
    weights: Any, cache: Path, progress_lines: ProgressLines | None = None, folder: Path = Path()
) -> Path:
    progress = ProgressLines() if progress_lines is None else progress_lines
    weights_folder = fetch(weights, model_folder=folder, progress=progress, cache=cache)
    assert weights_folder is not None
    return weights_folder


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    """Folder of a model with the weights below data/."""
    (tmp_path / "model" / "data").mkdir(parents=True)
    for name, content in CONTENT.items():
        (tmp_path / "model" / "data" / name).write_bytes(content)
    return tmp_path / "model"


IN_FOLDER = _weights("folder", path="data")


def test_weights_are_read_once_from_the_model_folder(tmp_path: Path, model_folder: Path) -> None:
    progress = ProgressLines()
    for _ in range(2):
        folder = _fetch(IN_FOLDER, tmp_path, progress, folder=model_folder)
        assert _contents(folder) == CONTENT
    assert progress == ["fetching weights from data"]


def test_wrong_sha256_is_refused(tmp_path: Path, model_folder: Path) -> None:
    (model_folder / "data" / "model.bin").write_bytes(b"other")
    with pytest.raises(
        BuildError,
        match=f"model.bin .* {_sha256(b'other')}, .* {_sha256(b'weights')}. The file has changed",
    ):
        _fetch(IN_FOLDER, tmp_path, folder=model_folder)


def test_damaged_cache_is_refused_until_deleted(tmp_path: Path, model_folder: Path) -> None:
    folder = _fetch(IN_FOLDER, tmp_path, folder=model_folder)
    (folder / "model.bin").write_bytes(b"weight")
    with pytest.raises(BuildError, match="is damaged: delete it and build again"):
        _fetch(IN_FOLDER, tmp_path, folder=model_folder)
    shutil.rmtree(folder)
    assert _fetch(IN_FOLDER, tmp_path, folder=model_folder) == folder


def test_weights_are_read_from_an_s3_prefix(
    tmp_path: Path, s3: FakeS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("boto3.client", {"s3": s3}.__getitem__)
    for name, content in CONTENT.items():
        s3.objects[f"a/prefix/{name}"] = {"Body": content}
    folder = _fetch(_weights("s3", uri="s3://bucket/a/prefix"), tmp_path)
    assert _contents(folder) == CONTENT


HUB = {"repository": "microsoft/resnet-50", "revision": "0123456789" * 4}


def test_weights_are_read_from_a_revision_of_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[Any] = []

    def download(repository: str, name: str, *, local_dir: Path, **options: Any) -> None:
        requests.append((repository, name, options))
        (local_dir / name).write_bytes(CONTENT[name])

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    progress = ProgressLines()
    folder = _fetch(_weights("hub", **HUB), tmp_path, progress)
    assert _contents(folder) == CONTENT
    assert progress == ["fetching weights from microsoft/resnet-50 at 012345678901"]
    assert requests == [
        ("microsoft/resnet-50", name, {"revision": HUB["revision"], "token": False})
        for name in CONTENT
    ]
