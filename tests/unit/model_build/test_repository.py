from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from model_build import RepositoryInvalid
from model_build.repository import Repository, is_ensemble

if TYPE_CHECKING:
    from tests.unit.model_build.conftest import WriteConfigs, WriteFiles

ENSEMBLE = 'platform: "ensemble"'
PYTHON = 'backend: "python"'


def test_every_folder_with_a_configuration_is_a_model(
    tmp_path: Path, write_files: "WriteFiles"
) -> None:
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
    assert list(repository.configs) == ["a", "b"]
    assert repository.configs["b"].backend == "python"


def test_a_configuration_that_does_not_parse_is_named(write_configs: "WriteConfigs") -> None:
    with pytest.raises(RepositoryInvalid, match=r"/b/config\.pbtxt:1:1: .*no field named"):
        write_configs(a=PYTHON, b="backnd: 1")


@pytest.mark.parametrize(
    ("configs", "entry"),
    [
        ({"only": PYTHON}, "only"),
        ({"only": ENSEMBLE}, "only"),
        ({"a": PYTHON, "b": ENSEMBLE, "c": PYTHON}, "b"),
    ],
)
def test_the_entry_is_the_one_ensemble_or_the_only_model(
    write_configs: "WriteConfigs", configs: dict[str, str], entry: str
) -> None:
    assert write_configs(**configs).entry == entry


@pytest.mark.parametrize(
    "configs", [{}, {"a": PYTHON, "b": PYTHON}, {"a": ENSEMBLE, "b": ENSEMBLE, "c": PYTHON}]
)
def test_without_one_choice_there_is_no_entry(
    write_configs: "WriteConfigs", configs: dict[str, str]
) -> None:
    with pytest.raises(KeyError, match="has no one entry model"):
        _ = write_configs(**configs).entry


@pytest.mark.parametrize(
    ("config", "found"),
    [
        (ENSEMBLE, True),
        ('backend: "ensemble"', False),  # SageMaker's front end does not see it
        ('platform: "Ensemble"', False),
        (PYTHON, False),
    ],
)
def test_an_ensemble_is_one_in_the_spelling_that_sagemaker_sees(
    write_configs: "WriteConfigs", config: str, found: bool
) -> None:
    assert is_ensemble(write_configs(a=config).configs["a"]) is found
