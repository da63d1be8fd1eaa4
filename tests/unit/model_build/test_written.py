from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from model_build import RepositoryInvalid, written
from model_build.recipe import Recipe

if TYPE_CHECKING:
    from tests.unit.model_build.conftest import WriteFiles


def test_a_folder_is_read_as_its_recipe_and_its_configurations(doubled: Path) -> None:
    recipe, repository = written.read(doubled)
    assert recipe == Recipe(description="Twice a number", files={})
    assert list(repository.configs) == ["double", "doubled"]


def _recipe(folder: Path, files: str, *, weights: str = "") -> Path:
    path = folder / "recipe.yaml"
    path.write_text(f"description: x\n{weights}files: {{ {files} }}\n")
    return path


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ("to: copy, weights: data/words.txt", "weights data/words.txt"),
        ("to: python-packages, requirements: pins.txt", "requirements pins.txt"),
        (
            "to: onnx, source: export.py:f, opset: 18, gate: { max_absolute_difference: 1 }",
            "source export.py",
        ),
        (
            "to: torchscript, source: a/b.py:f, gate: { max_absolute_difference: 1 }",
            "source a/b.py",
        ),
    ],
    ids=["copy", "python-packages", "onnx", "torchscript"],
)
def test_a_file_that_a_recipe_builds_from_must_be_there(
    doubled: Path, write_files: "WriteFiles", step: str, told: str
) -> None:
    recipe = _recipe(doubled, f"double/1/made: {{ {step} }}")
    with pytest.raises(RepositoryInvalid) as refused:
        written.read(doubled)
    assert str(refused.value) == (
        f"{recipe}: files.double/1/made: {told} does not exist: add it beside the recipe, or write "
        "another path"
    )
    write_files(doubled, {told.partition(" ")[2]: ""})
    written.read(doubled)


def test_a_copied_file_is_one_of_the_recipes_weights_if_it_has_any(
    doubled: Path, write_files: "WriteFiles"
) -> None:
    weights = f"weights: {{ pypi: w==1, folder: w, files: {{ b: {'a' * 64}, a: {'a' * 64} }} }}\n"
    write_files(doubled, {"c": ""})
    recipe = _recipe(doubled, "double/1/c: { to: copy, weights: c }", weights=weights)
    with pytest.raises(RepositoryInvalid) as refused:
        written.read(doubled)
    assert str(refused.value) == (
        f"{recipe}: files.double/1/c: c is none of the recipe's weights: write one of a, b"
    )
    _recipe(doubled, "double/1/c: { to: copy, weights: b }", weights=weights)
    written.read(doubled)


def test_a_made_file_belongs_to_a_model_directory(doubled: Path) -> None:
    recipe = _recipe(doubled, "dobule/1/c: { to: copy, weights: recipe.yaml }")
    with pytest.raises(RepositoryInvalid) as refused:
        written.read(doubled)
    assert str(refused.value) == (
        f"{recipe}: files.dobule/1/c: dobule is no model directory; there are: double, doubled"
    )


@pytest.mark.parametrize("target", ["recipe.yaml", "tests", "nowhere"])
def test_a_symbolic_link_is_refused_wherever_it_leads(doubled: Path, target: str) -> None:
    link = doubled / "double" / "1" / "link"
    link.symlink_to(doubled / target)
    with pytest.raises(RepositoryInvalid) as refused:
        written.read(doubled)
    assert str(refused.value) == f"{link} is a symbolic link: put the file itself there"


def test_a_symbolic_link_that_is_no_part_of_the_model_does_no_harm(doubled: Path) -> None:
    (doubled / ".venv").symlink_to(doubled.parent)
    written.read(doubled)
