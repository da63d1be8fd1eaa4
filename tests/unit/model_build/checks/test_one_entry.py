from typing import TYPE_CHECKING

import pytest

from model_build.checks.one_entry import one_entry

if TYPE_CHECKING:
    from tests.unit.model_build.conftest import WriteConfigs

ENSEMBLE = 'platform: "ensemble"'
PYTHON = 'backend: "python"'
SEVERAL = (
    'an archive of several models needs exactly one with platform: "ensemble", which is the one '
    "served"
)
SPELLING = (
    'write platform: "ensemble" (SageMaker\'s front end looks for exactly that and does not see '
    "other spellings)"
)


@pytest.mark.parametrize(
    "configs", [{"a": PYTHON}, {"a": ENSEMBLE}, {"a": PYTHON, "b": ENSEMBLE, "c": PYTHON}]
)
def test_one_model_or_one_ensemble_is_right(
    write_configs: "WriteConfigs", configs: dict[str, str]
) -> None:
    assert list(one_entry(write_configs(**configs))) == []


def test_a_folder_without_a_model_is_refused(write_configs: "WriteConfigs") -> None:
    repository = write_configs()
    assert list(one_entry(repository)) == [
        f"{repository.folder}: no model: add a folder with a config.pbtxt"
    ]


def test_several_models_without_an_ensemble_are_refused(write_configs: "WriteConfigs") -> None:
    repository = write_configs(a=PYTHON, b=PYTHON)
    assert list(one_entry(repository)) == [
        f"{repository.folder}: 2 models and no ensemble: {SEVERAL}"
    ]


def test_several_ensembles_are_refused_by_name(write_configs: "WriteConfigs") -> None:
    repository = write_configs(a=ENSEMBLE, b=PYTHON, c=ENSEMBLE)
    assert list(one_entry(repository)) == [
        f"{repository.folder}: 3 models and 2 ensembles (a, c): {SEVERAL}"
    ]


@pytest.mark.parametrize(
    "spelling", ['backend: "ensemble"', "ensemble_scheduling { step [ { model_name: 'b' } ] }"]
)
def test_an_ensemble_that_sagemaker_would_not_see_is_told_the_spelling(
    write_configs: "WriteConfigs", spelling: str
) -> None:
    alone = write_configs(a=spelling)
    path = alone.folder / "a" / "config.pbtxt"
    assert list(one_entry(alone)) == [f"{path}: {SPELLING}"]
    with_its_step = write_configs(a=spelling, b=PYTHON)
    assert list(one_entry(with_its_step)) == [
        f"{alone.folder}: 2 models and no ensemble: {SEVERAL}",
        f"{path}: {SPELLING}",
    ]
