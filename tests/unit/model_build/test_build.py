"""Builds of the model folder `doubled`, up to the packed archive."""

import io
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from model_build import BuildError, BuildTarget, ModelFolder, model_config
from model_build.archive import Archive, pack
from model_build.build import Build, build
from model_build.export.gate import GateReport, OutputTensor
from model_build.export.step import StepContext, StepOutput
from model_build.formats.onnx import Onnx
from model_build.manifest import LoadRecord
from tests.unit.model_build.checks.cases import files
from tests.unit.model_build.conftest import write_files
from tests.unit.model_build.fakes import ProgressLines, no_engines

CPU = BuildTarget(release="24.09")
GPU = BuildTarget(release="25.09", compute_capability="8.6")
TO_ONNX = "{ to: onnx, source: export.py:f, opset: 18, gate: { max_absolute_difference: 1.0e-6 } }"


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of temporary files, which a build must leave empty."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@contextmanager
def _start_build(
    folder: Path, target: BuildTarget = CPU, *, alternative: str | None = None
) -> Iterator[Build]:
    with build(
        ModelFolder(folder).model(alternative),
        name="doubled",
        target=target,
        progress=ProgressLines(),
        engines=no_engines(),
    ) as finished_build:
        yield finished_build


def _pack(finished_build: Build) -> tuple[bytes, Archive]:
    archive_file = finished_build.folder.with_name("packed")
    archive = pack(finished_build.folder, archive_file)
    return archive_file.read_bytes(), archive


def _contents(archive: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {
            entry.name: file.read() for entry in tar if (file := tar.extractfile(entry)) is not None
        }


def _build(folder: Path, target: BuildTarget = CPU) -> tuple[bytes, dict[str, bytes], bytes]:
    with _start_build(folder, target) as finished_build:
        content, archive = _pack(finished_build)
        manifest = finished_build.manifest(archive, load=LoadRecord(not_loaded="a test"))
        return content, _contents(content), manifest.json_bytes()


def _config(contents: dict[str, bytes], model: str) -> Any:
    return model_config.parse(contents[f"{model}/config.pbtxt"].decode())


def _gate_report(*output_tensors: list[OutputTensor]) -> GateReport:
    return GateReport(
        max_absolute_difference=0.0,
        max_relative_difference=0.0,
        allowed=1e-6,
        shapes=[],
        output_tensors=list(output_tensors),
    )


def test_archive_holds_only_the_model_directories(doubled: Path) -> None:
    with _start_build(doubled) as finished_build:
        archive, _ = _pack(finished_build)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        names = tar.getnames()
    assert names == [
        *("double", "double/1", "double/1/model.py", "double/config.pbtxt"),
        *("doubled", "doubled/1", "doubled/config.pbtxt"),
    ]


def test_failed_build_leaves_no_files(doubled: Path, scratch: Path) -> None:
    config = doubled / "double" / "config.pbtxt"
    config.write_text(config.read_text().replace('"python"', '"onnxruntime"'))
    write_files(
        doubled,
        {
            "recipe.yaml": f"description: x\nfiles: {{ double/1/model.onnx: {TO_ONNX} }}\n",
            "export.py": "",
        },
    )
    before = sorted(doubled.rglob("*"))
    with pytest.raises(BuildError, match=r"export\.py has no function f$"):
        _build(doubled)
    assert list(scratch.iterdir()) == []
    assert sorted(doubled.rglob("*")) == before


def test_empty_folders_do_not_change_the_build(doubled: Path) -> None:
    before = _build(doubled)
    for folder in ("double/2", "double/1/data/words", "doubled/3", "doubled/notes"):
        (doubled / folder).mkdir(parents=True)
    assert _build(doubled) == before


def test_alternative_is_built_with_its_own_backend(
    doubled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = f"description: x\nalternatives: {{ onnx: {{ double/1/model.onnx: {TO_ONNX} }} }}\n"
    onnx = files.onnx({"X": ["batch", 2]}, {"Y": ["batch", 2]})
    report = _gate_report()

    def generate(step: Onnx, to: Path, context: StepContext) -> StepOutput:
        assert (step.source, context.target) == ("export.py:f", CPU)
        to.write_bytes(onnx)
        return StepOutput([("ONNX and PyTorch", report)])

    monkeypatch.setattr(Onnx, "generate", generate)
    write_files(doubled, {"recipe.yaml": recipe, "export.py": ""})
    with _start_build(doubled, alternative="onnx") as finished_build:
        archive, _ = _pack(finished_build)
        assert finished_build.gates == {"double/1/model.onnx: ONNX and PyTorch": report}
    contents = _contents(archive)
    assert _config(contents, "double").backend == "onnxruntime"
    assert "double/1/model.onnx" in contents


def test_instance_groups_follow_the_target(doubled: Path) -> None:
    for target, kind in ((CPU, "KIND_CPU"), (GPU, "KIND_GPU")):
        _, contents, _ = _build(doubled, target)
        (group,) = _config(contents, "double").instance_group
        assert group.Kind.Name(group.kind) == kind
