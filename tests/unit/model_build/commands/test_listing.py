from pathlib import Path

from model_build import ModelFolder
from model_build.__main__ import main
from tests.processes import run_main
from tests.unit.model_build.conftest import write_files


def test_broken_models_are_named_and_the_others_listed(doubled: Path) -> None:
    write_files(
        doubled.parent,
        {"a/recipe.yaml": "a: [", "b/b/config.pbtxt": "x: 1", "c/c/1/model.onnx": "", "d/e": ""},
    )
    output = run_main(main, "list", str(doubled.parent), code=1)
    (row,) = output.stdout.splitlines()
    version = ModelFolder(doubled).model().digest[:12]
    assert row.split(maxsplit=2) == ["doubled", version, "Twice a number"]
    for name in ("a/recipe.yaml:1", "b/b/config.pbtxt:1", "c/c/1/model.onnx"):
        assert f"error: {doubled.parent / name}" in output.stderr
    assert f"{doubled.parent / 'd'} is not a model: " in output.stderr
