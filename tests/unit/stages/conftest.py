"""Functions that load the text of a stage file."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from platform_facts.rules import checked_yaml
from stages import StageConfig, load_stage


def load(text: str) -> StageConfig:
    """Load the text of a stage file named prod.yaml."""
    with TemporaryDirectory() as parent:
        folder = Path(parent, "stages")
        folder.mkdir()
        (folder / "prod.yaml").write_text(text, encoding="utf-8")
        return load_stage("prod", folder)


def problems(text: str) -> list[str]:
    """Return the lines of the error of an invalid prod.yaml."""
    with pytest.raises(checked_yaml.InvalidFile) as raised:
        load(text)
    return [line.removeprefix("stages/") for line in str(raised.value).splitlines()]
