"""Rules of the linter together: their sets, formats and the error with all findings."""

from pathlib import Path

import pytest

import platform_facts
from model_build import checks
from model_build.formats import BACKENDS, FORMATS
from model_build.source import ModelSource, all_models

BUNDLED = list(all_models(Path(checks.__file__).parents[2] / "models"))


@pytest.mark.parametrize("model", BUNDLED, ids=lambda model: model.name)
def test_bundled_model_has_no_findings(model: ModelSource) -> None:
    assert checks.lint(model) == []


def test_each_backend_has_one_format_and_one_table_row() -> None:
    assert len(FORMATS) == len(BACKENDS), (
        "two modules of model_build/formats have the same backend: add the file to `other_files` "
        "of the existing FORMAT"
    )
    table_backends = {row.name for row in platform_facts.backends()} - {"ensemble"}
    assert set(BACKENDS) == table_backends, (
        "model_build/formats and the [[backend]] rows of platform_facts/releases.toml differ: a "
        "format needs both"
    )
