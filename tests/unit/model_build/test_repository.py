from pathlib import Path

import pytest

from model_build.repository import Repository
from tests.unit.model_build.conftest import WriteConfigs, write_files

ENSEMBLE = 'platform: "ensemble"'
PYTHON = 'backend: "python"'


def test_folder_with_config_is_a_model(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        {
            "b/config.pbtxt": PYTHON,
            "a/config.pbtxt": ENSEMBLE,
            "notes/readme.txt": "",
            "a/1/config.pbtxt": PYTHON,
            "config.pbtxt": PYTHON,
        },
    )
    repository = Repository.read(tmp_path)
    assert list(repository.models) == ["a", "b"]
    model = repository.models["b"]
    assert (model.name, model.directory, model.backend) == ("b", tmp_path / "b", "python")


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


@pytest.mark.parametrize(
    ("configs", "entry"),
    [
        ({"only": PYTHON}, "only"),
        ({"only": ENSEMBLE}, "only"),
        ({"a": PYTHON, "b": ENSEMBLE, "c": PYTHON}, "b"),
        *((configs, None) for configs in ({}, {"a": PYTHON, "b": PYTHON}, {"a": ENSEMBLE,
           "b": ENSEMBLE})),
    ],
)  # fmt: skip
def test_entry_model_is_the_only_ensemble_or_model(
    write_configs: WriteConfigs, configs: dict[str, str], entry: str | None
) -> None:
    repository = write_configs(**configs)
    if entry:
        assert repository.entry.name == entry
    else:
        with pytest.raises(KeyError, match="has no one entry model"):
            _ = repository.entry
