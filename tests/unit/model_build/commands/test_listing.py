from pathlib import Path

from model_build import ModelSource
from model_build.__main__ import main
from tests.processes import run_main
from tests.unit.model_build.commands.conftest import succeed
from tests.unit.model_build.conftest import write_files


def test_alternatives_and_models_without_a_recipe_are_listed(doubled: Path) -> None:
    write_files(
        doubled,
        {
            "recipe.yaml": "description: Twice a number\nalternatives:\n  faster:\n"
            "    double/1/model.py: { to: onnx, source: export.py:f, opset: 18, "
            "gate: { max_absolute_difference: 1 } }\n",
            "export.py": "",
        },
    )
    config = (doubled / "double" / "config.pbtxt").read_text()
    write_files(
        doubled.parent / "plain",
        {
            "double/config.pbtxt": config,
            "double/1/model.py": (doubled / "double/1/model.py").read_text(),
        },
    )
    write_files(doubled.parent, {"notes/README.md": ""})
    rows = [line.split() for line in succeed("list", doubled.parent).splitlines()]
    assert [row[0] for row in rows] == ["doubled", "doubled-faster", "plain"]
    assert rows[1][1] == ModelSource(doubled, "faster").digest[:12]
    assert rows[0][1] != rows[1][1]
    assert " ".join(rows[2][2:]) == "A Triton model repository, packed as it is"


def test_broken_models_are_named_and_the_others_listed(doubled: Path) -> None:
    write_files(
        doubled.parent,
        {"a/recipe.yaml": "a: [", "b/b/config.pbtxt": "x: 1", "c/c/1/model.onnx": "", "d/e": ""},
    )
    output = run_main(main, "list", str(doubled.parent), code=1)
    assert [line.split()[0] for line in output.stdout.splitlines()] == ["doubled"]
    for name in ("a/recipe.yaml:1", "b/b/config.pbtxt:1", "c/c/1/model.onnx"):
        assert f"error: {doubled.parent / name}" in output.stderr
    assert f"{doubled.parent / 'd'} is not a model: " in output.stderr
