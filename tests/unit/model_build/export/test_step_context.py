from pathlib import Path

import pytest

from model_build import BuildTarget
from tests.unit.model_build.fakes import step_context


@pytest.mark.parametrize(
    ("target", "python"), [("cpu-24.09", "3.10.12"), ("cpu-24.09-py311", "3.11")]
)
def test_python_version_is_that_of_the_target(tmp_path: Path, target: str, python: str) -> None:
    context = step_context(tmp_path, target=BuildTarget.parse(target))
    assert context.python_version == python
