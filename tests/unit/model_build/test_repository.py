from pathlib import Path

from model_build.repository import Repository
from tests.unit.model_build.conftest import write_files

PYTHON = 'backend: "python"'


def test_versions_are_the_numbered_folders(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        {
            "a/config.pbtxt": PYTHON,
            "a/1/model.py": "",
            "a/12/model.py": "",
            "a/notes/x": "",
            "a/3": "a file",
        },
    )
    assert Repository.read(tmp_path).models["a"].versions == ["1", "12"]
