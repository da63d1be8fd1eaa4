from typing import TYPE_CHECKING

import pytest

from model_build.checks.model_names import model_names

if TYPE_CHECKING:
    from tests.unit.model_build.conftest import WriteConfigs


@pytest.mark.parametrize("config", ['name: "encoder"', "max_batch_size: 8"])
def test_the_directorys_name_or_none_is_right(write_configs: "WriteConfigs", config: str) -> None:
    assert list(model_names(write_configs(encoder=config))) == []


@pytest.mark.parametrize("name", ["decoder", "Encoder", "encoder "])
def test_any_other_name_is_refused(write_configs: "WriteConfigs", name: str) -> None:
    repository = write_configs(encoder=f'name: "{name}"', other='name: "other"')
    assert list(model_names(repository)) == [
        f'{repository.folder}/encoder/config.pbtxt: name is "{name}", the directory is encoder: '
        'write name: "encoder"'
    ]
