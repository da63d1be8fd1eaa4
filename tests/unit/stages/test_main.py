from pathlib import Path

import pytest

import stages
from stages.__main__ import main


def printed(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def test_the_schema_for_editors_is_the_one_that_is_shipped(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Where this fails: make schema
    shipped = Path(stages.__file__).with_name("stage.schema.json").read_text()
    assert printed(["--schema"], capsys) == shipped


def test_every_stage_names_the_schema_for_editors_in_its_first_line() -> None:
    folder = Path(stages.__file__).parent
    for name in stages.stage_names():
        first = (folder / f"{name}.yaml").read_text().splitlines()[0]
        assert first == "# yaml-language-server: $schema=stage.schema.json", name


def test_the_listing_has_a_line_for_each_stage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [line.split() for line in printed([], capsys).splitlines()]
    assert rows == [
        [name, stage.region, stage.release, *", ".join(stage.endpoints).split()]
        for name in stages.stage_names()
        for stage in [stages.load_stage(name)]
    ]
    assert ["dev", "us-east-1", "25.09", "text"] in rows
