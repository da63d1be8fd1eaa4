"""Tests of `tritonsm new model`."""

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
def test_new_model_has_no_lint_findings_and_a_sample(kind: str, models: Path) -> None:
    folder = new_model.write("my-own", kind, models=models)
    assert [*models.iterdir()] == [folder]
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert not [path for path in files if new_model.PLACEHOLDER in f"{path}{path.read_text()}"]
    sources = [
        ModelSource(folder, name) for name in (None, *ModelSource(folder).recipe.alternatives)
    ]
    assert [finding for source in sources for finding in checks.lint(source)] == []
    plan = plan_model(ModelSource(folder))
    assert plan.entry == "my-own"
    sample = golden.Golden.read(folder / golden.FILE)
    assert [tensor.name for tensor in plan.signature.inputs] == [*sample.inputs]
    assert [output.name for output in plan.signature.outputs] == [*sample.outputs]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("My_Model", "write 2 to 32 lowercase letters, digits and hyphens"),
        ("../up", "write 2 to 32 lowercase letters, digits and hyphens"),
        ("net", "net already exists"),
        ("net-onnx", "net-onnx is already an alternative of a model"),
    ],
)
def test_invalid_name_is_an_error(models: Path, name: str, message: str) -> None:
    new_model.write("net", "pytorch", models=models)
    with pytest.raises(CommandError, match=message):
        new_model.write(name, "onnx", models=models)
    assert [path.name for path in models.iterdir()] == ["net"]


def test_pytorch_template_has_the_requirements_of_resnet50() -> None:
    file = "requirements-export.txt"
    template, shipped = new_model.TEMPLATES / "pytorch" / file, ROOT / "models" / "resnet50" / file
    assert template.read_text() == shipped.read_text()
