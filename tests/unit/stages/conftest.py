"""Fixtures that load the text of a stage file."""

from collections.abc import Callable
from pathlib import Path

import pytest

from platform_facts.rules import checked_yaml
from stages import StageConfig, load_stage

Load = Callable[[str], StageConfig]
Problems = Callable[[str], list[str]]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Return a function that loads the text of a stage file named prod.yaml."""

    def load_text(text: str) -> StageConfig:
        (tmp_path / "prod.yaml").write_text(text, encoding="utf-8")
        return load_stage("prod", tmp_path)

    return load_text


@pytest.fixture
def problems(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Problems:
    """Return a function that loads the text of an invalid prod.yaml, and returns error lines."""
    monkeypatch.chdir(tmp_path)

    def error_lines(text: str) -> list[str]:
        with pytest.raises(checked_yaml.InvalidFile) as raised:
            load(text)
        prefix = f"{tmp_path.name}/"  # the folder of the stages
        return [line.removeprefix(prefix) for line in str(raised.value).splitlines()]

    return error_lines
