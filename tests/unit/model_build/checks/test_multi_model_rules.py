from typing import TYPE_CHECKING

import pytest
from model_build.checks.multi_model_rules import multi_model_rules

if TYPE_CHECKING:
    from tests.unit.model_build.conftest import WriteConfigs


@pytest.mark.parametrize(
    "config",
    [
        "",
        "model_transaction_policy { decoupled: false }",
        "instance_group [ { count: 2 kind: KIND_GPU }, { kind: KIND_CPU } ]",
    ],
)
def test_one_response_from_any_gpu_is_right(write_configs: "WriteConfigs", config: str) -> None:
    assert list(multi_model_rules(write_configs(a=config))) == []


def test_a_decoupled_model_is_refused(write_configs: "WriteConfigs") -> None:
    repository = write_configs(a="model_transaction_policy { decoupled: true }", b="")
    assert list(multi_model_rules(repository)) == [
        f"{repository.folder}/a/config.pbtxt: decoupled models cannot be invoked on SageMaker: "
        "remove decoupled: true"
    ]


def test_every_instance_group_that_pins_gpus_is_refused(write_configs: "WriteConfigs") -> None:
    repository = write_configs(
        a="instance_group [ { gpus: [ 0 ] }, { kind: KIND_CPU }, { gpus: [ 1, 2 ] } ]"
    )
    path = repository.folder / "a" / "config.pbtxt"
    assert list(multi_model_rules(repository)) == [
        f"{path}: instance_group pins gpus [0]: remove gpus",
        f"{path}: instance_group pins gpus [1, 2]: remove gpus",
    ]
