"""Tests of templates without the scaling of a variant."""

import json
from typing import Any

import pytest

from delivery import suspended_scaling
from release import stack_catalog
from release.stack_endpoints import StackEndpoint
from release.templates import Template

URL = ["s3://", {"Fn::ImportValue": "prod-models:Bucket"}]
VARIANT = "endpoint/prod-text/variant/"


def model(prefix: str, **container: str) -> dict[str, Any]:
    url = {"Fn::Join": ["", [*URL, f"/{prefix}"]]}
    return {
        "Type": "AWS::SageMaker::Model",
        "Properties": {"PrimaryContainer": {"ModelDataUrl": url, **container}},
    }


def template(*, scaled: tuple[str, ...] = (), multi_model: bool = False, **types: str) -> Template:
    """Return the template of an endpoint; `types` maps variants to instance types."""
    reference = {"ModelName": {"Fn::GetAtt": ["Model", "ModelName"]}}
    variants = [
        {"VariantName": name, "InstanceType": instance_type, **reference}
        for name, instance_type in types.items()
    ]
    config = {
        "Type": "AWS::SageMaker::EndpointConfig",
        "Properties": {"ProductionVariants": variants},
    }
    stack_resources: dict[str, Any] = {"Config": config}
    if multi_model:
        stack_resources["Model"] = model("text/cpu-24.09/", Mode="MultiModel")
    for name in scaled:
        stack_resources[f"{name}Target"] = {
            "Type": "AWS::ApplicationAutoScaling::ScalableTarget",
            "Properties": {"ResourceId": f"{VARIANT}{name}", "MinCapacity": 1, "MaxCapacity": 2},
        }
        stack_resources[f"{name}Policy"] = {
            "Type": "AWS::ApplicationAutoScaling::ScalingPolicy",
            "Properties": {"ScalingTargetId": {"Ref": f"{name}Target"}},
        }
    return {"Resources": stack_resources, "Parameters": {}}


def test_only_multi_model_endpoints_have_prefixes() -> None:
    resources = {
        "A": model("text/cpu-24.09/", Mode="MultiModel"),
        "B": model("text/cuda-25.09-sm86/", Mode="MultiModel"),
        "C": model("text/cpu-24.09/", Mode="MultiModel"),
        "D": model("text/cpu-24.09/minilm-1.tar.gz"),
    }
    prefixes = stack_catalog.prefixes({"Resources": resources})
    assert prefixes == {"text/cpu-24.09/", "text/cuda-25.09-sm86/"}


def test_archives_are_named_by_catalog_entries() -> None:
    def entry(name: str, archive: str | None) -> dict[str, Any]:
        value = json.dumps({"target_model": archive})
        return {"Type": "AWS::SSM::Parameter", "Properties": {"Name": name, "Value": value}}

    resources = {
        "A": entry("/triton/prod/text/minilm", "minilm-1.tar.gz"),
        "B": entry("/triton/prod/search/minilm", None),
        "C": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "/other", "Value": "text"}},
    }
    assert stack_catalog.named_archives({"Resources": resources}) == {"minilm-1.tar.gz"}


@pytest.mark.parametrize(
    ("new", "variants"),
    [
        (template(A="g5", B="g5"), []),
        (template(A="g6", B="g5"), ["A"]),
        (template(A="g5", B="g6"), []),  # B is not scaled
        (template(B="g5"), []),  # SageMaker refuses this update in any case
        (template(A="g6"), []),  # refused too
        (template(A="g6", B="g5", multi_model=True), []),  # refused too
        (template(A="g5", B="g5", C="g6", scaled=("C",)), []),
    ],
)
def test_scaling_is_suspended_for_a_new_instance_type(new: Template, variants: list[str]) -> None:
    live = template(A="g5", B="g5", scaled=("A",))
    endpoint = StackEndpoint("prod-text", "text", "prod-text", "Config")
    suspended = suspended_scaling.suspend_scaling(endpoint, live, new)
    assert (list(suspended.variants) if suspended else []) == variants


def test_scaling_of_components_is_not_suspended() -> None:
    """With another instance type, an endpoint of components gets another name."""
    live = template(A="g5", scaled=("A",))
    target = live["Resources"]["ATarget"]["Properties"]
    target["ResourceId"] = "inference-component/A"
    new = json.loads(json.dumps(live))
    for changed_template, instance_type in ((live, "g5"), (new, "g6")):
        changed_template["Resources"]["Config"]["Properties"]["ProductionVariants"] = [
            {"VariantName": "A", "InstanceType": instance_type}
        ]
    endpoint = StackEndpoint("prod-text", "text", "prod-text", "Config")
    assert suspended_scaling.suspend_scaling(endpoint, live, new) is None


def test_scaling_is_removed_with_dependencies_on_it() -> None:
    live = template(A="g5", B="g5", scaled=("A", "B"))
    live["Resources"]["Entry"] = {"DependsOn": ["ATarget", "APolicy", "BTarget"], "Type": "T"}
    live["Resources"]["Other"] = {"DependsOn": "ATarget", "Type": "T"}
    before = json.dumps(live)
    expected = template(A="g5", B="g5", scaled=("B",))
    expected["Resources"]["Entry"] = {"DependsOn": ["BTarget"], "Type": "T"}
    expected["Resources"]["Other"] = {"Type": "T"}
    assert suspended_scaling.without_scaling(live, ["A"]) == expected
    assert json.dumps(live) == before
