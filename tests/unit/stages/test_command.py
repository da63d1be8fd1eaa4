import argparse
from pathlib import Path

import pytest

import stages
from stages import command, load


def main(arguments: list[str]) -> int:
    """Run `tritonsm stages` with arguments; return its exit code."""
    parser = argparse.ArgumentParser()
    command.add_to(parser.add_subparsers())
    options = parser.parse_args(["stages", *arguments])
    code: int = options.run(options)
    return code


def output_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def test_shipped_json_schema_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    shipped = Path(stages.__file__).with_name("stage.schema.json").read_text()
    assert output_of(["--schema"], capsys) == shipped, "run make schema"


def test_stage_files_reference_the_json_schema() -> None:
    folder = Path(stages.__file__).parent
    for name in stages.stage_names():
        first = (folder / f"{name}.yaml").read_text().splitlines()[0]
        assert first == "# yaml-language-server: $schema=stage.schema.json", name


def test_invalid_stage_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    valid = (load.FOLDER / "dev.yaml").read_text()
    for name, content in {"a_b": valid, "broken": "- a", "dev": valid}.items():
        (tmp_path / f"{name}.yaml").write_text(content)
    monkeypatch.setattr(command, "stage_names", lambda: load.stage_names(tmp_path))
    monkeypatch.setattr(command, "load_stage", lambda name: load.load_stage(name, tmp_path))
    assert main([]) == 1
    output = capsys.readouterr()
    assert [line.split()[0] for line in output.out.splitlines()] == ["dev"]
    name, broken = output.err.splitlines()
    assert name.startswith("error: ")
    assert "a_b.yaml: the names of stacks start with" in name
    assert "broken.yaml:1: write a mapping" in broken
