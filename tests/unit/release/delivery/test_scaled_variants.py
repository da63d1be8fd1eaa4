import json
from typing import Any

import pytest

from release import stack_catalog
from release.delivery import scaled_variants
from release.stack_endpoints import StackEndpoint
from release.tree import Template

URL = ["s3://", {"Fn::ImportValue": "prod-models:Bucket"}]
VARIANT = "endpoint/prod-text/variant/"


def model(prefix: str, **more: str) -> dict[str, Any]:
    url = {"Fn::Join": ["", [*URL, f"/{prefix}"]]}
    return {
        "Type": "AWS::SageMaker::Model",
        "Properties": {"PrimaryContainer": {"ModelDataUrl": url, **more}},
    }


def template(*, scaled: tuple[str, ...] = (), multi_model: bool = False, **types: str) -> Template:
    """Return an endpoint of variants with these instance types."""
    reference = {"ModelName": {"Fn::GetAtt": ["Model", "ModelName"]}}
    variants = [
        {"VariantName": each, "InstanceType": kind, **reference} for each, kind in types.items()
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


def test_every_multi_model_variant_has_its_prefix() -> None:
    resources = {
        "A": model("text/cpu-24.09/", Mode="MultiModel"),
        "B": model("text/cuda-25.09-sm86/", Mode="MultiModel"),
        "C": model("text/cpu-24.09/", Mode="MultiModel"),
    }
    prefixes = stack_catalog.prefixes({"Resources": resources})
    assert prefixes == {"text/cpu-24.09/", "text/cuda-25.09-sm86/"}


def test_an_endpoint_of_one_model_has_no_prefix() -> None:
    resources = {"A": model("text/cpu-24.09/minilm-1.tar.gz")}
    assert stack_catalog.prefixes({"Resources": resources}) == set()


def test_the_catalog_s_entries_name_archives_where_clients_choose_them() -> None:
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
    ("new", "changed"),
    [
        (template(A="g5", B="g5"), []),
        (template(A="g6", B="g5"), ["A"]),
        (template(A="g5", B="g6"), []),  # B is not scaled
        (template(B="g5"), []),  # refused, however it is deployed
        (template(A="g6"), []),  # so is this
        (template(A="g6", B="g5", multi_model=True), []),  # and this
        (template(A="g5", B="g5", C="g6", scaled=("C",)), []),
    ],
)
def test_a_scaled_variant_that_gets_other_instances_changes(
    new: Template, changed: list[str]
) -> None:
    live = template(A="g5", B="g5", scaled=("A",))
    endpoint = StackEndpoint("prod-text", "text", "prod-text", "Config")
    unscaled = scaled_variants.unscaled(endpoint, live, new)
    assert (list(unscaled.variants) if unscaled else []) == changed


def test_an_endpoint_of_components_is_not_deployed_twice() -> None:
    """SageMaker gives it no other instance type, and so it is another endpoint then."""
    live = template(A="g5", scaled=("A",))
    target = live["Resources"]["ATarget"]["Properties"]
    target["ResourceId"] = "inference-component/A"
    new = json.loads(json.dumps(live))
    for side, kind in ((live, "g5"), (new, "g6")):
        side["Resources"]["Config"]["Properties"]["ProductionVariants"] = [
            {"VariantName": "A", "InstanceType": kind}
        ]
    endpoint = StackEndpoint("prod-text", "text", "prod-text", "Config")
    assert scaled_variants.unscaled(endpoint, live, new) is None


def test_without_scaling_nothing_depends_on_what_is_not_there() -> None:
    live = template(A="g5", B="g5", scaled=("A", "B"))
    live["Resources"]["Entry"] = {"DependsOn": ["ATarget", "APolicy", "BTarget"], "Type": "T"}
    live["Resources"]["Other"] = {"DependsOn": "ATarget", "Type": "T"}
    left = scaled_variants.without_scaling(live, ["A"])["Resources"]
    assert left["Entry"] == {"DependsOn": ["BTarget"], "Type": "T"}
    assert left["Other"] == {"Type": "T"}


def test_without_scaling_a_template_is_what_it_was_in_all_else() -> None:
    live = template(A="g5", B="g5", scaled=("A", "B"))
    before = json.dumps(live)
    without = scaled_variants.without_scaling(live, ["A"])
    assert without == template(A="g5", B="g5", scaled=("B",))
    assert json.dumps(live) == before
