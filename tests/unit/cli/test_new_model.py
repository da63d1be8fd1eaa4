"""Folders that `new model` writes."""

from pathlib import Path

import pytest

from cli import new_model
from cli.errors import CommandError
from model_build import checks
from model_build.plan import plan_model
from model_build.source import ModelSource
from release.delivery import golden
from tests.unit.test_repository import ROOT


@pytest.fixture
def models(tmp_path: Path) -> Path:
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


@pytest.mark.parametrize("kind", new_model.KINDS)
def test_a_new_model_lints_as_it_is_and_has_what_it_can_be_asked_with(
    kind: str, models: Path
) -> None:
    folder = new_model.write("my-own", kind, models=models)
    assert [*models.iterdir()] == [folder]
    sources = [
        ModelSource(folder, each) for each in (None, *ModelSource(folder).recipe.alternatives)
    ]
    assert [finding for source in sources for finding in checks.lint(source)] == []
    plan = plan_model(ModelSource(folder))
    assert plan.entry == "my-own"
    beside = golden.Golden.read(folder / golden.FILE)
    assert [each.name for each in plan.signature.inputs] == [*beside.inputs]
    assert [output.name for output in plan.signature.outputs] == [*beside.outputs]


@pytest.mark.parametrize("kind", new_model.KINDS)
def test_nothing_in_a_new_model_is_called_as_the_template(kind: str, models: Path) -> None:
    folder = new_model.write("my-own", kind, models=models)
    written = [path for path in folder.rglob("*") if path.is_file()]
    assert not [each for each in written if new_model.PLACEHOLDER in f"{each}{each.read_text()}"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("My_Model", "write 2 to 32 lowercase letters, digits and hyphens"),
        ("../up", "write 2 to 32 lowercase letters, digits and hyphens"),
        ("net", "net already exists"),
        ("net-onnx", "net-onnx is already an alternative of a model"),
    ],
)
def test_a_name_that_cannot_be_is_refused_before_anything_is_written(
    models: Path, name: str, message: str
) -> None:
    new_model.write("net", "pytorch", models=models)
    with pytest.raises(CommandError, match=message):
        new_model.write(name, "onnx", models=models)
    assert [path.name for path in models.iterdir()] == ["net"]


def test_networks_are_exported_where_resnet50_is_so_that_torch_is_installed_once() -> None:
    file = "requirements-export.txt"
    template, shipped = new_model.TEMPLATES / "pytorch" / file, ROOT / "models" / "resnet50" / file
    assert template.read_text() == shipped.read_text()
