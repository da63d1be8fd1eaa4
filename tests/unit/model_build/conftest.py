"""Fixtures of the model_build tests: small model folders and fake AWS clients."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from model_build import BuildTarget, ModelFolder
from model_build.build import Build, build
from model_build.export import export_cache
from model_build.repository import CONFIG, Repository
from tests.unit.model_build.fakes import FakeS3, FakeSageMaker, ProgressLines, no_engines

WriteConfigs = Callable[..., Repository]


@pytest.fixture(autouse=True)
def _empty_export_cache(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Use an empty cache of exports, not the user's."""
    monkeypatch.setattr(export_cache, "FOLDER", tmp_path_factory.mktemp("cache") / "exports")


@pytest.fixture
def s3() -> FakeS3:
    return FakeS3()


@pytest.fixture
def sagemaker() -> FakeSageMaker:
    return FakeSageMaker()


@pytest.fixture
def progress_lines() -> ProgressLines:
    return ProgressLines()


def write_files(folder: Path, files: dict[str, str]) -> Path:
    """Write files, given as path -> text, into a folder; return the folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def write_configs(tmp_path: Path) -> WriteConfigs:
    """Function that writes a model repository, given as model -> config.pbtxt, and reads it."""

    def write(**configs: str) -> Repository:
        write_files(tmp_path, {f"{name}/{CONFIG}": text for name, text in configs.items()})
        return Repository.read(tmp_path)

    return write


_TENSORS = """
max_batch_size: 8
input [ { name: "X" data_type: TYPE_FP32 dims: [ 2 ] } ]
output [ { name: "Y" data_type: TYPE_FP32 dims: [ 2 ] } ]
"""

MODEL = """\
class TritonPythonModel:
    def execute(self, requests):
        return []
"""

DOUBLED = {
    "recipe.yaml": "description: Twice a number\n",
    "doubled/config.pbtxt": f"""
name: "doubled"
platform: "ensemble"
{_TENSORS}
ensemble_scheduling {{ step [ {{
  model_name: "double"
  model_version: -1
  input_map {{ key: "X" value: "X" }}
  output_map {{ key: "Y" value: "Y" }}
}} ] }}
""",
    "double/config.pbtxt": f"""
# A comment: the archive has no comments.
name: "double"
backend: "python"
{_TENSORS}
instance_group [ {{ count: 1 kind: KIND_GPU }} ]
""",
    "double/requirements.txt": "# for the builder\n",
    "double/1/model.py": MODEL,
    "double/1/__pycache__/model.cpython-312.pyc": "",
    "double/1/tests/test_model.py": "",
    "double/1/.editor": "",
    "tests/test_doubled.py": "",
}


@pytest.fixture
def doubled(tmp_path: Path) -> Path:
    """Model folder without weights: an ensemble `doubled` of one Python model `double`."""
    return write_files(tmp_path / "models" / "doubled", DOUBLED)


@pytest.fixture
def finished_build(doubled: Path, tmp_path: Path) -> Iterator[Build]:
    """A build of `doubled` for the CPU."""
    with build(
        ModelFolder(doubled).model(),
        name="doubled",
        target=BuildTarget(release="24.09"),
        progress=ProgressLines(),
        engines=no_engines(),
    ) as result:
        yield result
