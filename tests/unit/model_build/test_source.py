from pathlib import Path

import pytest

from model_build import ModelFolder, ModelNotFound, RepositoryInvalid, checks
from model_build.recipe import Recipe
from model_build.source import all_models, find_model
from tests.unit.model_build.conftest import write_files

ALTERNATIVES = """
description: Twice a number
alternatives:
  onnx:
    double/1/model.onnx:
      to: onnx
      source: export.py:double
      opset: 18
      gate: { max_absolute_difference: 0.1 }
"""


@pytest.fixture
def doubled_with_alternative(doubled: Path) -> Path:
    return write_files(doubled, {"recipe.yaml": ALTERNATIVES, "export.py": ""})


def test_repository_without_a_recipe_must_be_complete(doubled: Path) -> None:
    (doubled / "recipe.yaml").unlink()
    model = ModelFolder(doubled).model()
    assert model.recipe == Recipe(description="A Triton model repository, packed as it is")
    assert list(checks.read(model).models) == ["double", "doubled"]
    (doubled / "double" / "1" / "model.py").unlink()
    with pytest.raises(RepositoryInvalid, match=r"double/1: the folder is empty: add model.py"):
        checks.read(ModelFolder(doubled).model())


def test_alternative_has_its_own_name_and_digest(doubled_with_alternative: Path) -> None:
    base, alternative = all_models(doubled_with_alternative.parent)
    assert (base.name, alternative.name) == ("doubled", "doubled-onnx")
    assert base.digest != alternative.digest
    assert list(alternative.files) == ["double/1/model.onnx"]


def test_find_returns_the_model_of_a_name(doubled_with_alternative: Path) -> None:
    models = doubled_with_alternative.parent
    assert find_model(models, "doubled") == ModelFolder(doubled_with_alternative).model()
    assert find_model(models, "doubled-onnx") == ModelFolder(doubled_with_alternative).model("onnx")
    with pytest.raises(ModelNotFound, match=r"no model 'tripled' in .*: models are doubled, "):
        find_model(models, "tripled")


def test_find_names_a_folder_that_is_no_model(doubled: Path) -> None:
    """It does not suggest another model for a folder that exists."""
    models = doubled.parent
    write_files(models, {"auto/auto/1/model.onnx": "", "double/notes.txt": ""})
    assert find_model(models, "auto").folder == models / "auto"  # lint says what it lacks
    with pytest.raises(ModelNotFound, match=r"models/double is not a model: it has no recipe"):
        find_model(models, "double")


def test_find_ignores_broken_recipes_of_other_models(doubled: Path) -> None:
    write_files(doubled.parent, {"other/recipe.yaml": "descripton: x\n"})
    assert find_model(doubled.parent, "doubled").name == "doubled"
