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


def test_findings_are_printed_and_fail_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = _tar(tmp_path / "a.tar.gz", {"a/config.pbtxt": 'platform: "pyhton"'})
    assert main(["inspect", str(archive)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert any(line.startswith('a/config.pbtxt:1:1: "pyhton" is not a platform') for line in out)
    assert any(line.startswith("a/config.pbtxt: warning: declares no output") for line in out)


def test_path_traversal_is_refused(tmp_path: Path, fail: Fail) -> None:
    archive = _tar(tmp_path / "a.tar.gz", {"../outside.txt": "x"})
    assert fail("inspect", archive).startswith(
        f"{archive}: ../outside.txt is not a file or folder in"
    )
    assert not (tmp_path / "outside.txt").exists()


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
