"""The wheel of the local SageMaker, installed without the app: content and example."""

import os
import re
from pathlib import Path
from zipfile import ZipFile

import pytest

from local_sagemaker.tests.support.tiny_models import pack_python, times
from tests.distribution.clean_environment import ROOT, build, environment, run
from tests.processes import run_program

PROJECT = ROOT / "local_sagemaker"
NOT_PACKED = re.compile(r"(docs|tests)/|(pyproject\.toml|README\.md|LICENSE)$")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("local_sagemaker", tmp_path_factory.mktemp("dist"))


def test_wheel_has_every_file_and_both_licences(wheel: Path) -> None:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listing = run_program(*command, cwd=PROJECT)
    source = {name for name in listing.stdout.splitlines() if (PROJECT / name).is_file()}
    with ZipFile(wheel) as files:
        packed, metadata = set[str](), set[str]()
        for name in files.namelist():
            folder, _, path = name.partition("/")
            (packed if folder == "local_sagemaker" else metadata).add(path)
    assert packed == {name for name in source if not NOT_PACKED.match(name)}
    assert {"licenses/LICENSE", "licenses/watch/page/uplot/LICENSE"} <= metadata


def test_example_of_the_readme_works(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    python = environment(tmp_path_factory.mktemp("environment"), wheel, extra="triton")
    folder = tmp_path_factory.mktemp("folder")
    archive = pack_python(folder / "times", times(3))
    (folder / "model.tar.gz").write_bytes(archive)
    example = re.findall(r"```python\n(.*?)```", (PROJECT / "README.md").read_text(), re.S)[0]
    _command(python, folder, "up")
    try:
        exports = re.findall(r"^export (\w+)=(.*)$", _command(python, folder, "env"), re.M)
        variables = {name: value.strip("'") for name, value in exports}
        assert run(python, "-c", example, cwd=folder, **variables) == "[21.0]\n"
    finally:
        assert _command(python, folder, "down") == "local SageMaker stopped\n"


def _command(python: Path, folder: Path, *arguments: str) -> str:
    """Run the command of the wheel in a folder; return its stdout."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(python.with_name("local-sagemaker")), *arguments]
    process = run_program(*command, cwd=folder, env=variables)
    return process.stdout
