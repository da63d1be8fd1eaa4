import runpy
import sys
from pathlib import Path

import pytest

import stages


def printed(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    monkeypatch.setattr(sys, "argv", ["stages", *arguments])
    with pytest.raises(SystemExit) as stopped:
        runpy.run_module("stages", run_name="__main__")
    assert stopped.value.code == 0
    return capsys.readouterr().out


def test_the_schema_for_editors_is_the_one_that_is_shipped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Where this fails: python -m stages --schema > stages/stage.schema.json
    shipped = Path(stages.__file__).with_name("stage.schema.json").read_text()
    assert printed(["--schema"], monkeypatch, capsys) == shipped


def test_every_stage_names_the_schema_for_editors_in_its_first_line() -> None:
    folder = Path(stages.__file__).parent
    for name in stages.stage_names():
        first = (folder / f"{name}.yaml").read_text().splitlines()[0]
        assert first == "# yaml-language-server: $schema=stage.schema.json", name


def test_the_listing_has_a_line_for_each_stage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [line.split() for line in printed([], monkeypatch, capsys).splitlines()]
    assert rows == [
        [name, stage.region, stage.release, *", ".join(stage.endpoints).split()]
        for name in stages.stage_names()
        for stage in [stages.load_stage(name)]
    ]
    assert ["dev", "us-east-1", "25.09", "text"] in rows
