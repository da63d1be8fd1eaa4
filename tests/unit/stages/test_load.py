from pathlib import Path

import pytest

from platform_facts.rules import checked_yaml
from stages import UnknownStage, load_stage, stage_names

VALID = """\
region: us-east-1
release: "25.09"
endpoints:
  text:
    models: [minilm]
    instance_type: ml.g5.xlarge
"""


def test_stage_names_are_the_yaml_files(tmp_path: Path) -> None:
    for name in ("prod.yaml", "dev.yaml", "stage.schema.json", "README.md"):
        (tmp_path / name).write_text(VALID)
    assert stage_names(tmp_path) == ["dev", "prod"]
    assert load_stage("dev", tmp_path) == load_stage("prod", tmp_path)


@pytest.fixture
def three_stages(tmp_path: Path) -> Path:
    folder = tmp_path / "stages"
    folder.mkdir()
    for name in ("prod", "local", "dev"):
        (folder / f"{name}.yaml").write_text(VALID)
    return folder


def test_unknown_stage_error_suggests_names(three_stages: Path) -> None:
    with pytest.raises(UnknownStage, match=r"no stage 'pord': did you mean prod\? stages are"):
        load_stage("pord", three_stages)


@pytest.mark.parametrize("name", ["my_stage", "2nd", "-"])
def test_stage_name_must_be_a_stack_name_prefix(three_stages: Path, name: str) -> None:
    (three_stages / f"{name}.yaml").write_text(VALID)
    with pytest.raises(UnknownStage, match=rf"^stages/{name}\.yaml: .* rename the file"):
        load_stage(name, three_stages)


def test_unreadable_stage_file_is_an_error(three_stages: Path) -> None:
    (three_stages / "folder.yaml").mkdir()
    (three_stages / "link.yaml").symlink_to("nowhere.yaml")
    with pytest.raises(UnknownStage, match=r"^stages/folder\.yaml cannot be read: Is a directory"):
        load_stage("folder", three_stages)
    with pytest.raises(UnknownStage, match=r"^stages/link\.yaml cannot be read: No such file"):
        load_stage("link", three_stages)


@pytest.mark.parametrize("name", ["../stages/dev", "dev.yaml", "Dev", ""])
def test_path_is_not_a_stage_name(name: str) -> None:
    with pytest.raises(UnknownStage):
        load_stage(name)


def test_stack_name_conflict_of_two_stages_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(VALID.replace("text:", "eu-text:"))
    (tmp_path / "mine-eu.yaml").write_text(VALID)
    with pytest.raises(checked_yaml.InvalidFile, match=r"mine-eu\.yaml has a stack mine-eu-text"):
        load_stage("mine", tmp_path)
    with pytest.raises(checked_yaml.InvalidFile, match=r"mine\.yaml has a stack mine-eu-text"):
        load_stage("mine-eu", tmp_path)
    (tmp_path / "mine.yaml").write_text(VALID.replace("text:", "eu-models:"))
    with pytest.raises(checked_yaml.InvalidFile, match=r"has a stack mine-eu-models"):
        load_stage("mine", tmp_path)


def test_too_long_endpoint_name_is_an_error(tmp_path: Path) -> None:
    name = "s" * 59
    (tmp_path / f"{name}.yaml").write_text(VALID)
    with pytest.raises(checked_yaml.InvalidFile, match="of 64 characters, and SageMaker allows 63"):
        load_stage(name, tmp_path)
