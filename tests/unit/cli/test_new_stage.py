"""Tests of `tritonsm new stage`."""

import shutil
from pathlib import Path

import pytest

from cli import new_stage
from cli.errors import CommandError
from model_build import ModelNotFound
from stages import load_stage
from tests.unit.test_repository import ROOT

MODELS = ROOT / "models"


@pytest.fixture
def stages(tmp_path: Path) -> Path:
    for name in ("dev", "local", "prod"):
        shutil.copy(ROOT / "stages" / f"{name}.yaml", tmp_path)
    return tmp_path


def test_new_stage_is_a_copy_with_comments(stages: Path) -> None:
    path = new_stage.write("trial", "prod", [], stages=stages, models=MODELS)
    assert path.read_text() == (stages / "prod.yaml").read_text()
    assert load_stage("trial", stages) == load_stage("prod", stages)


def test_endpoints_replace_those_of_the_copy(stages: Path) -> None:
    endpoints = ["text=minilm,bert", "vision=resnet50-onnx"]
    path = new_stage.write("trial", "local", endpoints, stages=stages, models=MODELS)
    before = (stages / "local.yaml").read_text().partition("endpoints:")[0]
    assert path.read_text().startswith(before)
    new, base = load_stage("trial", stages), load_stage("local", stages)
    assert {name: endpoint.models for name, endpoint in new.endpoints.items()} == {
        "text": ["minilm", "bert"],
        "vision": ["resnet50-onnx"],
    }
    assert {endpoint.instance_type for endpoint in new.endpoints.values()} == {"ml.m5.xlarge"}
    assert new.model_copy(update={"endpoints": base.endpoints}) == base


@pytest.mark.parametrize(
    ("name", "endpoints", "message"),
    [
        ("Mine", [], "'Mine' is not a valid stage name: write a small letter first"),
        ("12", [], "'12' is not a valid stage name"),
        ("dev", [], "dev.yaml already exists; stages are dev, local, prod"),
        ("trial", ["text=minilmm"],
         "no model 'minilmm' in .*models: did you mean minilm[?] models are bert"),
        ("trial", ["text"], "'text': write NAME=MODEL"),
        ("trial", ["Text=minilm"], "endpoints.Text: 'Text' is not allowed here"),
        ("trial", ["text=minilm", "text=bert"], "text"),
    ],
)  # fmt: skip
def test_invalid_stage_is_not_written(
    stages: Path, name: str, endpoints: list[str], message: str
) -> None:
    before = sorted(stages.iterdir())
    with pytest.raises((CommandError, ModelNotFound), match=message):
        new_stage.write(name, "dev", endpoints, stages=stages, models=MODELS)
    assert sorted(stages.iterdir()) == before


def test_schema_comment_is_added_and_keys_after_endpoints_are_kept(stages: Path) -> None:
    (stages / "bare.yaml").write_text(
        "region: us-east-1\nendpoints:\n  # a comment\n  a1:\n    models: [bert]\n"
        '    instance_type: ml.g5.xlarge\n\nrelease: "25.09"'
    )
    path = new_stage.write("trial", "bare", ["b1=minilm"], stages=stages, models=MODELS)
    assert path.read_text() == (
        "# yaml-language-server: $schema=stage.schema.json\n"
        "region: us-east-1\nendpoints:\n  b1:\n    models: [minilm]\n"
        '    instance_type: ml.g5.xlarge\nrelease: "25.09"\n'
    )
