"""Where a stage says what a construct refuses."""

import pytest

from checked_yaml import Misfits
from stacks import naming_keys
from tests.synth.endpoints import Scene
from triton_sagemaker import InvalidEndpoint, Problem

TOO_MANY = {f"V{number:03}": "" for number in range(100)}


def test_what_a_construct_refuses_has_the_key_of_the_stage_once() -> None:
    scene = Scene()
    container = scene.container(environment=TOO_MANY)
    variants = [scene.variant(name=name, container=container) for name in ("Old", "New")]
    with pytest.raises(Misfits) as raised, naming_keys("text"):
        scene.endpoint(*variants)
    ((keys, message),) = raised.value.found
    assert keys == ("endpoints", "text", "environment")
    assert message.startswith("103 entries of 502 bytes")


def test_what_no_stage_can_say_is_named_as_the_construct_names_it() -> None:
    where = "variants.Old.hosting.prefix"
    with pytest.raises(Misfits) as raised, naming_keys("text"):
        raise InvalidEndpoint("dev-text", [Problem(where, "is wrong")])
    assert raised.value.found == [(("endpoints", "text"), f"{where}: is wrong")]
