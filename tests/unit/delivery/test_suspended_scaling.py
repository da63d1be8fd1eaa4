"""Tests of templates without the scaling of a variant."""

import json
from typing import Any

import pytest

from delivery.deploy import suspend_scaling, without_scaling
from plan.document import ENDPOINT_KEY, EndpointSettings, HostingMode, PlannedPool
from release.templates import Template
from tests.unit.plan.plans import make_endpoint, make_variant

VARIANT = "endpoint/prod-text/variant/"


def settings(
    hosting: HostingMode = "single-model", scaled: tuple[str, ...] = (), **types: str
) -> EndpointSettings:
    """Return an endpoint; `types` maps variants to instance types."""
    variants = {
        name: make_variant(
            pools=tuple(
                PlannedPool(instance_type=kind, prefix="text/cpu/", target="cpu")
                for kind in instance_type.split(",")
            ),
            is_scaled=name in scaled,
        )
        for name, instance_type in types.items()
    }
    return make_endpoint(variants=variants, hosting=hosting).settings


def template(*, scaled: tuple[str, ...] = (), **types: str) -> Template:
    """Return the template of such an endpoint, with the scaling of its variants."""
    stack_resources: dict[str, Any] = {"Config": {"Type": "AWS::SageMaker::EndpointConfig"}}
    for name in scaled:
        stack_resources[f"{name}Target"] = {
            "Type": "AWS::ApplicationAutoScaling::ScalableTarget",
            "Properties": {"ResourceId": f"{VARIANT}{name}", "MinCapacity": 1, "MaxCapacity": 2},
        }
        stack_resources[f"{name}Policy"] = {
            "Type": "AWS::ApplicationAutoScaling::ScalingPolicy",
            "Properties": {"ScalingTargetId": {"Ref": f"{name}Target"}},
        }
    part = settings("single-model", scaled, **types).metadata()
    return {"Metadata": {ENDPOINT_KEY: part}, "Resources": stack_resources}


@pytest.mark.parametrize(
    ("new", "variants"),
    [
        (settings(A="g5", B="g5"), []),
        (settings(A="g6", B="g5"), ["A"]),
        (settings(A="g5", B="g6"), []),  # B is not scaled
        (settings(A="g6,g5", B="g5"), []),  # several types may stay registered
        (settings(B="g5"), []),  # SageMaker refuses this update in any case
        (settings(A="g6"), []),  # refused too
        (settings("multi-model", A="g6", B="g5"), []),  # refused too
        (settings(A="g5", B="g5", C="g6", scaled=("C",)), []),
    ],
)
def test_scaling_is_suspended_for_a_new_instance_type(
    new: EndpointSettings, variants: list[str]
) -> None:
    suspended = suspend_scaling(new, template(A="g5", B="g5", scaled=("A",)))
    assert (list(suspended.variants) if suspended else []) == variants


def test_suspended_scaling_is_not_suspended_again() -> None:
    """After an interruption between the two deploys, the next delivery deploys once."""
    live = without_scaling(template(A="g5", scaled=("A",)), ["A"])
    assert suspend_scaling(settings(A="g6", scaled=("A",)), live) is None


def test_scaling_is_removed_with_dependencies_on_it() -> None:
    live = template(A="g5", B="g5", scaled=("A", "B"))
    live["Resources"]["Entry"] = {"DependsOn": ["ATarget", "APolicy", "BTarget"], "Type": "T"}
    live["Resources"]["Other"] = {"DependsOn": "ATarget", "Type": "T"}
    before = json.dumps(live)
    expected = template(A="g5", B="g5", scaled=("B",)) | {"Metadata": live["Metadata"]}
    expected["Resources"]["Entry"] = {"DependsOn": ["BTarget"], "Type": "T"}
    expected["Resources"]["Other"] = {"Type": "T"}
    assert without_scaling(live, ["A"]) == expected
    assert json.dumps(live) == before
