"""Where a stage says what a construct refuses."""

import pytest

from checked_yaml import Misfits
from stacks import raise_problems
from stages import EndpointStage
from triton_sagemaker import Problem

ENDPOINT = EndpointStage.model_validate(
    {
        "models": ["minilm"],
        "instance_type": "ml.g5.xlarge",
        "variants": {"Old": {}, "New": {"instance_type": "ml.g6.xlarge"}},
    }
)


@pytest.mark.parametrize(
    ("where", "keys"),
    [
        ("container.release", "release"),
        ("variants.Old.instances.instance_type", "endpoints.text.instance_type"),
        ("variants.New.instances.instance_type", "endpoints.text.variants.New.instance_type"),
        ("variants.New.instances.initial_count", "endpoints.text.instance_count"),
        ("instances.initial_count", "endpoints.text.instance_count"),
        ("variants.New.container.environment", "endpoints.text.environment"),
        ("variants.New.container.options.ping_mode", "endpoints.text.server.ping_mode"),
        (
            "variants.New.container.options.python_shm_growth",
            "endpoints.text.server.python_shm_growth_mib",
        ),
        ("variants.New.weight", "endpoints.text.variants.New.weight"),
        ("variants", "endpoints.text.variants"),
        ("update", "endpoints.text.update"),
        ("update.percent", "endpoints.text.update.percent"),
        ("update.wait", "endpoints.text.update.wait_seconds"),
        ("rollback_error_rate", "endpoints.text.update.rollback_error_rate"),
        (
            "variants.New.auto_scale_instance_count.max_capacity",
            "endpoints.text.scaling.max_count",
        ),
        ("variants.New.auto_scale_instance_count", "endpoints.text.scaling"),
        ("variants.New.scale_on_gpu_utilization", "endpoints.text.scaling.gpu_percent"),
        (
            "variants.New.scale_on_schedule.noon.min_capacity",
            "endpoints.text.scaling.schedules.noon.min_count",
        ),
        ("data_capture.percent", "endpoints.text.data_capture.percent"),
    ],
)
def test_what_a_construct_refuses_has_the_keys_of_the_stage(where: str, keys: str) -> None:
    assert refused(where) == [(tuple(keys.split(".")), "is wrong")]


def test_what_no_stage_can_say_is_named_as_the_construct_names_it() -> None:
    where = "variants.Old.hosting.prefix"
    assert refused(where) == [(("endpoints", "text"), f"{where}: is wrong")]


def test_an_endpoint_without_problems_raises_nothing() -> None:
    raise_problems("text", ENDPOINT, [])


def test_what_every_variant_has_wrong_is_said_once() -> None:
    both = [Problem(f"variants.{it}.container.environment", "is wrong") for it in ("Old", "New")]
    with pytest.raises(Misfits) as raised:
        raise_problems("text", ENDPOINT, both)
    assert raised.value.found == [(("endpoints", "text", "environment"), "is wrong")]


def refused(where: str) -> list[tuple[tuple[str | int, ...], str]]:
    with pytest.raises(Misfits) as raised:
        raise_problems("text", ENDPOINT, [Problem(where, "is wrong")])
    return raised.value.found
