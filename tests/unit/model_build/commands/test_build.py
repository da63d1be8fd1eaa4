import json
import tarfile
from pathlib import Path

import pytest

from model_build import compute_digest
from model_build.__main__ import main
from tests.processes import run_main
from tests.unit.model_build.commands.conftest import NO_LOAD, fail, succeed
from tests.unit.model_build.conftest import write_files

TARGET = ("--target", "cpu-24.09", *NO_LOAD)


@pytest.fixture
def doubled_with_alternative(doubled: Path) -> Path:
    """`doubled` with an alternative `onnx` that copies another file and runs a failing export."""
    return write_files(
        doubled,
        {
            "recipe.yaml": """\
description: Twice a number
files:
  double/1/words.txt: { to: copy, weights: words.txt }
alternatives:
  onnx:
    double/1/words.txt: { to: copy, weights: other.txt }
    double/1/model.onnx:
      { to: onnx, source: e.py:f, opset: 18, gate: { max_absolute_difference: 1 } }
""",
            "words.txt": "one two",
            "other.txt": "three",
            "e.py": "def f(weights): raise ValueError('alternative onnx')\n",
        },
    )


def test_build_writes_archive_and_manifest_to_the_output_folder(
    doubled: Path, tmp_path: Path
) -> None:
    to = tmp_path / "new" / "folder"
    captured = run_main(main, "build", str(doubled), *TARGET, "--output", str(to))
    name = f"doubled-{compute_digest(doubled)[:12]}"
    assert sorted(path.name for path in to.iterdir()) == [f"{name}.json", f"{name}.tar.gz"]
    manifest = json.loads((to / f"{name}.json").read_text())
    assert manifest["archive"]["bytes"] == (to / f"{name}.tar.gz").stat().st_size
    assert tarfile.is_tarfile(to / f"{name}.tar.gz")
    assert captured.stdout == f"wrote {to}/{name}.tar.gz\n"
    assert f"packing {to}/{name}.tar.gz\n" in captured.stderr


def test_alternative_is_selected_by_path(doubled_with_alternative: Path, tmp_path: Path) -> None:
    to = ("--output", tmp_path / "out")
    message = "failed: ValueError: alternative onnx"
    assert message in fail("build", f"{doubled_with_alternative}-onnx", *TARGET, *to)
    succeed("build", doubled_with_alternative, *TARGET, *to)


def test_output_that_cannot_be_made_is_one_line(doubled: Path) -> None:
    message = fail("build", doubled, *TARGET, "--output", "/dev/null/x")
    assert message == "--output /dev/null/x: Not a directory: write a folder that you may write to"
