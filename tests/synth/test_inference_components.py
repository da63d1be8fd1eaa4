"""Endpoints of inference components: resources, access, scaling, alarms and invalid settings."""

import json
from dataclasses import replace
from typing import Any

from aws_cdk import Size
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam

from tests.synth.conftest import templates_of
from tests.synth.endpoints import SampleStack
from triton_sagemaker import (
    ComponentHosting,
    ModelComponent,
    Variant,
)

MODEL, CONFIG, ENDPOINT, COMPONENT = (
    f"AWS::SageMaker::{kind}"
    for kind in ("Model", "EndpointConfig", "Endpoint", "InferenceComponent")
)
TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"
ALARM, DASHBOARD = "AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard"


def component(sample: SampleStack, model: str, **changes: Any) -> ModelComponent:
    default = ModelComponent(
        name=f"under-test-{model}",
        source=sample.single_model(key=f"test/{model}.tar.gz"),
        memory=Size.mebibytes(2048),
        cpus=2,
        accelerators=1,
    )
    return replace(default, **changes)


def variant(
    sample: SampleStack, *models: str, type_name: str = "ml.g5.2xlarge", **changes: Any
) -> Variant:
    components = {model: component(sample, model, **changes) for model in models or ("one",)}
    hosting = ComponentHosting(components=components, max_instance_count=2)
    return sample.variant(type_name, hosting=hosting)


def test_config_has_role_and_network_but_no_model(sample: SampleStack) -> None:
    vpc = ec2.Vpc(sample.stack, "Vpc", max_azs=2)
    sample.endpoint(variant(sample), vpc=vpc)
    config = sample.properties(CONFIG)
    (production_variant,) = config["ProductionVariants"]
    assert "ModelName" not in production_variant
    assert production_variant["ManagedInstanceScaling"] == {
        "MaxInstanceCount": 2,
        "MinInstanceCount": 0,
        "Status": "ENABLED",
    }
    assert config["ExecutionRoleArn"]["Fn::GetAtt"][0].startswith("EndpointRole")
    assert len(config["VpcConfig"]["Subnets"]) == 2
    assert "VpcConfig" not in sample.properties(MODEL)


def test_guard_runs_before_a_change_of_the_update_alone() -> None:
    """It waits for scaling: SageMaker refuses an update of a component that is being scaled."""
    checked = 0
    for template in templates_of("components").values():
        resources = template["Resources"].values()
        components = [item for item in resources if item["Type"] == COMPONENT]
        for guard in resources:
            if guard["Type"] == "Custom::TritonUpdateGuard":
                for specification, deployment in guard["Properties"]["Deployment"]:
                    assert "modelName" in specification
                    assert "rollingUpdatePolicy" in deployment
                    checked += 1
                assert len(guard["Properties"]["Deployment"]) == len(components)
    assert checked


def test_config_is_created_after_the_policies_of_its_role(sample: SampleStack) -> None:
    sample.endpoint(variant(sample))
    template = sample.template()
    (config,) = template.find_resources(CONFIG).values()
    policies = template.find_resources("AWS::IAM::Policy")
    assert [name for name in policies if name in config["DependsOn"]]


def test_component_scaling_target_depends_on_component(sample: SampleStack) -> None:
    endpoint = sample.endpoint(variant(sample))
    scaling = endpoint.components[0].auto_scale_copy_count(max_capacity=2)
    scaling.scale_on_concurrency("Concurrency", requests_per_copy=4)
    (component_id,) = sample.template().find_resources(COMPONENT)
    (target,) = sample.template().find_resources(TARGET).values()
    assert component_id in target["DependsOn"]


def test_grant_invoke_includes_the_component(sample: SampleStack) -> None:
    endpoint = sample.endpoint(variant(sample, "one", "two"))
    user = iam.User(sample.stack, "User")
    endpoint.grant_invoke(user, models=["two"])
    policy = json.dumps(sample.properties("AWS::IAM::Policy", "User"))
    assert ":endpoint/under-test" in policy
    assert ":inference-component/under-test-two" in policy
    assert "under-test-one" not in policy


def test_each_component_has_alarms_and_a_dashboard_row(sample: SampleStack) -> None:
    sample.endpoint(variant(sample, "one", "two")).monitor()
    alarm = sample.properties(ALARM, "twoServerErrorswarning")
    assert alarm["AlarmDescription"].endswith("of under-test, component two")
    body = json.dumps(sample.properties(DASHBOARD)["DashboardBody"])
    for text in ("# one", "# two", "NoCapacityInvocationFailures", "GPUUtilizationNormalized"):
        assert text in body
