from pathlib import Path

import pytest

from model_build import Location
from model_build.repository import Repository
from tests.unit.model_build.conftest import WriteConfigs, WriteFiles

ENSEMBLE = 'platform: "ensemble"'
PYTHON = 'backend: "python"'


def test_folder_with_config_is_a_model(tmp_path: Path, write_files: WriteFiles) -> None:
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


CONFIG = """\
name: "a"
input [
  { name: "X" data_type: TYPE_FP32 dims: [ 1 ] },
  { name: "Y" data_type: TYPE_FP32 }
]
parameters {
  key: "max_length"
  value { string_value: "128" }
}
model_transaction_policy {
  decoupled: true
}
ensemble_scheduling {
  step [
    { model_name: "b" input_map { key: "A" value: "X" } },
    { model_name: "c" }
  ]
}
"""


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        (("name",), 1, 1),
        (("input",), 2, 1),
        (("input", 1), 4, 3),
        (("input", 0, "dims"), 3, 36),
        (("input", 1, "dims"), 4, 3),  # absent: position of its tensor
        (("input", 7, "dims"), 2, 1),
        (("parameters", "max_length"), 6, 1),
        (("output",), None, None),
        ((), None, None),
        # A message that is not repeated needs no index.
        (("model_transaction_policy", "decoupled"), 11, 3),
        (("ensemble_scheduling", "step"), 14, 3),
        (("ensemble_scheduling", "step", 1), 16, 5),
        (("ensemble_scheduling", "step", 1, "model_name"), 16, 7),
        (("ensemble_scheduling", "step", 0, "input_map", "A"), 15, 23),
        (("ensemble_scheduling", "step", 1, "model_version"), 16, 5),
    ],
)
def test_field_location_is_that_of_the_field_or_its_parent(
    write_configs: WriteConfigs, path: tuple[str | int, ...], line: int, column: int
) -> None:
    model = write_configs(a=CONFIG).models["a"]
    assert model.field_location(*path) == Location(model.directory / "config.pbtxt", line, column)


def test_versions_are_the_numbered_folders(tmp_path: Path, write_files: WriteFiles) -> None:
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
