import gzip
import io
import json
import random
import tarfile
from pathlib import Path

import pytest

from model_build import compute_digest
from model_build.__main__ import main
from tests.unit.model_build.commands.conftest import NO_LOAD, Data, Fail, Succeed
from tests.unit.model_build.test_native_libraries import shared_object


@pytest.fixture
def finished_build(doubled: Path, tmp_path: Path, succeed: Succeed) -> Path:
    """An archive of `doubled`, with its manifest in the same folder."""
    succeed("build", doubled, "--target", "cpu-24.09", "--output", tmp_path, *NO_LOAD)
    return tmp_path / f"doubled-{compute_digest(doubled)[:12]}.tar.gz"


def _tar(path: Path, files: dict[str, str]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, text in files.items():
            content = text.encode("latin-1")
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return path


def test_json_has_models_files_and_manifest(
    finished_build: Path, run_json: Data, doubled: Path
) -> None:
    data = run_json("inspect", finished_build)
    assert data["archive"] == str(finished_build)
    assert data["bytes"] == finished_build.stat().st_size
    assert data["findings"] == []
    tensors = {"name": "X", "datatype": "FP32", "shape": [-1, 2]}
    assert {name: model["backend"] for name, model in data["models"].items()} == {
        "double": "python",
        "doubled": "ensemble",
    }
    assert data["models"]["doubled"]["inputs"] == [tensors]
    assert data["models"]["doubled"]["max_batch_size"] == 8
    assert set(data["files"]) == {
        *("double/1/model.py", "double/config.pbtxt", "doubled/config.pbtxt")
    }
    assert data["files"]["double/1/model.py"] == (doubled / "double/1/model.py").stat().st_size
    assert data["manifest"]["digest"] == compute_digest(doubled)


def test_text_has_models_files_and_manifest(finished_build: Path, succeed: Succeed) -> None:
    first, manifest, *lines = succeed("inspect", finished_build).splitlines()
    assert first == f"{finished_build}: 0.0 MB"
    assert manifest == "  doubled, built for cpu and Triton 24.09"
    assert lines[:3] == [
        "  double (python), batches up to 8",
        "    inputs: X FP32 [-1, 2]",
        "    outputs: Y FP32 [-1, 2]",
    ]
    assert lines[-1].endswith("doubled/config.pbtxt")


def test_packages_and_missing_libraries_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    library = shared_object("libOpenCL.so.1").decode("latin-1")
    info = "first/1/site-packages/lightgbm-4.6.0.dist-info/METADATA"
    archive = _tar(
        tmp_path / "model.tar.gz",
        {
            "first/config.pbtxt": 'backend: "python"',
            info: "Metadata-Version: 2.1\nName: lightgbm\nVersion: 4.6.0\n",
            "first/1/site-packages/lightgbm/lib.so": library,
        },
    )
    assert main(["inspect", str(archive), "--json"]) == 1  # model.py is missing
    data = json.loads(capsys.readouterr().out)
    assert data["models"]["first"]["packages"] == {"lightgbm": "4.6.0"}
    (warning,) = data["warnings"]
    assert warning.startswith("first/1/site-packages/lightgbm/lib.so needs libOpenCL.so.1, which")


def test_gates_are_printed_with_their_limits(finished_build: Path, succeed: Succeed) -> None:
    manifest = finished_build.with_name(finished_build.name.replace(".tar.gz", ".json"))
    gate = (
        '"gates": {"a/1/m.onnx: ONNX and PyTorch": {"max_absolute_difference": 2.5e-06, '
        '"max_relative_difference": 1e-06, "allowed": 0.0001, "shapes": []}}'
    )
    manifest.write_text(manifest.read_text().replace('"gates": {}', gate))
    assert "  gate a/1/m.onnx: ONNX and PyTorch: 2.5e-06 of 1e-04\n" in succeed(
        "inspect", finished_build
    )


def test_findings_are_printed_and_fail_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = _tar(tmp_path / "a.tar.gz", {"a/config.pbtxt": 'backend: "pyhton"'})
    assert main(["inspect", str(archive)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert any(line.startswith('a/config.pbtxt:1:1: "pyhton" is not a backend') for line in out)
    assert any(line.startswith("a/config.pbtxt: warning: declares no output") for line in out)


def test_missing_archive_is_an_error(tmp_path: Path, fail: Fail) -> None:
    assert fail("inspect", tmp_path / "no.tar.gz") == f"{tmp_path}/no.tar.gz is not a file"


def test_path_traversal_is_refused(tmp_path: Path, fail: Fail) -> None:
    archive = _tar(tmp_path / "a.tar.gz", {"../outside.txt": "x"})
    assert fail("inspect", archive).startswith(
        f"{archive}: ../outside.txt is not a file or folder in"
    )
    assert not (tmp_path / "outside.txt").exists()


def test_truncated_archive_is_refused(finished_build: Path, fail: Fail) -> None:
    content = finished_build.read_bytes()
    for size in (0, 5, len(content) // 2):
        finished_build.write_bytes(content[:size])
        assert fail("inspect", finished_build).startswith(f"{finished_build} is not a gzip tar: ")


def test_archive_with_a_wrong_crc_is_refused(tmp_path: Path, fail: Fail) -> None:
    incompressible = random.Random(1).randbytes(50_000).decode("latin-1")
    archive = _tar(
        tmp_path / "a.tar.gz",
        {"a/config.pbtxt": 'backend: "python"', "a/1/model.py": incompressible},
    )
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 0xFF  # inside a stored block, so only the CRC changes
    with pytest.raises(gzip.BadGzipFile, match="CRC"):
        gzip.decompress(content)
    archive.write_bytes(content)
    assert fail("inspect", archive).startswith(f"{archive} is not a gzip tar: ")


def test_control_characters_in_names_are_escaped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["inspect", str(_tar(tmp_path / "a.tar.gz", {"m/1/\x1b[2J\nmodel.py": ""}))])
    assert r"m/1/\x1b[2J\nmodel.py" in "".join(capsys.readouterr())
