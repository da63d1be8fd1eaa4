"""Files that `new stage` writes."""

import argparse
import shutil
from pathlib import Path

import pytest

from cli import new_stage
from cli.errors import CommandError
from model_build import ModelNotFound
from model_build.source import ModelSource, all_models
from stages import UnknownStage, load_stage
from tests.unit.test_repository import ROOT

MODELS = ROOT / "models"


@pytest.fixture
def stages(tmp_path: Path) -> Path:
    for name in ("dev", "local", "prod"):
        shutil.copy(ROOT / "stages" / f"{name}.yaml", tmp_path)
    return tmp_path


def test_a_new_stage_is_the_copied_one_with_its_comments(stages: Path) -> None:
    path = new_stage.write("trial", "prod", [], stages=stages, models=MODELS)
    assert path.read_text() == (stages / "prod.yaml").read_text()
    assert load_stage("trial", stages) == load_stage("prod", stages)


def test_its_endpoints_may_be_others_and_the_rest_stays(stages: Path) -> None:
    expected = ["text=minilm,bert", "vision=resnet50-onnx"]
    path = new_stage.write("trial", "local", expected, stages=stages, models=MODELS)
    before = (stages / "local.yaml").read_text().partition("endpoints:")[0]
    assert path.read_text().startswith(before)
    made, base = load_stage("trial", stages), load_stage("local", stages)
    assert {name: each.models for name, each in made.endpoints.items()} == {
        "text": ["minilm", "bert"],
        "vision": ["resnet50-onnx"],
    }
    assert {endpoint.instance_type for endpoint in made.endpoints.values()} == {"ml.m5.xlarge"}
    assert made.model_copy(update={"endpoints": base.endpoints}) == base


def test_all_models_are_dealt_to_endpoints_in_turn(stages: Path) -> None:
    models = [ModelSource(Path(name)) for name in ("a", "b", "c", "d", "e")]
    assert new_stage.deal(models, 2) == ["e001=a,c,e", "e002=b,d"]
    assert len(new_stage.deal(models, 9)) == 5
    assert new_stage.deal(models, 0) == []
    endpoints = new_stage.deal(all_models(MODELS), 3)
    path = new_stage.write("trial", "local", endpoints, stages=stages, models=MODELS)
    dealt = [
        name for each in load_stage("trial", stages).endpoints.values() for name in each.models
    ]
    assert sorted(dealt) == sorted(model.name for model in all_models(MODELS))
    assert path.name == "trial.yaml"


def test_a_file_without_the_schemas_comment_gets_it_and_keys_below_endpoints_stay(
    stages: Path,
) -> None:
    (stages / "bare.yaml").write_text(
        "region: us-east-1\nendpoints:\n  # a comment\n  a1:\n    models: [bert]\n\n"
        'release: "25.09"'
    )
    shutil.copy(stages / "dev.yaml", stages / "x.yaml")
    text = (
        (stages / "bare.yaml")
        .read_text()
        .replace("models: [bert]", "models: [bert]\n    instance_type: ml.g5.xlarge")
    )
    (stages / "bare.yaml").write_text(text)
    path = new_stage.write("trial", "bare", ["b1=minilm"], stages=stages, models=MODELS)
    assert path.read_text() == (
        "# yaml-language-server: $schema=stage.schema.json\n"
        "region: us-east-1\nendpoints:\n  b1:\n    models: [minilm]\n"
        '    instance_type: ml.g5.xlarge\nrelease: "25.09"\n'
    )


@pytest.mark.parametrize(
    ("name", "endpoints", "message"),
    [
        ("12", [], "no stage can be called '12'"),
        ("dev", [], "dev.yaml already exists; stages are dev, local, prod"),
        (
            "trial",
            ["text=minilmm"],
            "no model 'minilmm' in .*models: did you mean minilm[?] models are bert",
        ),
        ("trial", ["text"], "'text': write NAME=MODEL"),
        ("trial", ["Text=minilm"], "endpoints.Text: 'Text' is not allowed here"),
        ("trial", ["text=minilm", "text=bert"], "text"),
    ],
)
def test_what_cannot_be_is_refused_with_nothing_written(
    stages: Path, name: str, endpoints: list[str], message: str
) -> None:
    before = sorted(stages.iterdir())
    with pytest.raises((CommandError, ModelNotFound), match=message):
        new_stage.write(name, "dev", endpoints, stages=stages, models=MODELS)
    assert sorted(stages.iterdir()) == before


def test_the_stage_to_copy_must_be_there(stages: Path) -> None:
    with pytest.raises(UnknownStage, match="did you mean prod"):
        new_stage.write("trial", "prd", [], stages=stages, models=MODELS)


def test_a_link_to_nothing_is_not_written_through(stages: Path) -> None:
    (stages / "trial.yaml").symlink_to("elsewhere.yaml")
    with pytest.raises(CommandError, match=r"trial\.yaml already exists"):
        new_stage.write("trial", "dev", [], stages=stages, models=MODELS)
    assert not (stages / "elsewhere.yaml").exists()


@pytest.mark.parametrize(("base", "more"), [("local", " --local"), ("dev", "")])
def test_the_next_command_is_for_where_the_stage_is(
    base: str,
    more: str,
    stages: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(new_stage, "FOLDER", stages)
    new_stage.run(argparse.Namespace(name="mine", base=base, endpoint=[], split=0))
    assert capsys.readouterr().out.endswith(f"next: tritonsm deploy mine{more}\n")
