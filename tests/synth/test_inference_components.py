"""Endpoints of inference components: resources, access, scaling, alarms and invalid settings."""

import json
from dataclasses import replace
from typing import Any

import pytest
from aws_cdk import Duration, Size
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3

from tests.synth.endpoints import Scene
from triton_sagemaker import (
    Canary,
    ComponentHosting,
    DataCapture,
    ModelComponent,
    PublishedMetrics,
    Rolling,
    ServerOptions,
    TritonEndpoint,
    Variant,
)

MODEL, CONFIG, ENDPOINT, COMPONENT = (
    f"AWS::SageMaker::{kind}"
    for kind in ("Model", "EndpointConfig", "Endpoint", "InferenceComponent")
)
TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"
POLICY = "AWS::ApplicationAutoScaling::ScalingPolicy"
ALARM, DASHBOARD = "AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard"


def component(scene: Scene, model: str, **changes: Any) -> ModelComponent:
    default = ModelComponent(
        name=f"under-test-{model}",
        source=scene.single_model(key=f"test/{model}.tar.gz"),
        memory=Size.mebibytes(2048),
        cpus=2,
        accelerators=1,
    )
    return replace(default, **changes)


def variant(
    scene: Scene, *models: str, type_name: str = "ml.g5.2xlarge", **changes: Any
) -> Variant:
    components = {model: component(scene, model, **changes) for model in models or ("one",)}
    hosting = ComponentHosting(components=components, max_instance_count=2)
    return scene.variant(type_name, hosting=hosting)


def resource_by_id(scene: Scene, kind: str, text: str) -> dict[str, Any]:
    """Return the only resource of a type whose logical ID contains `text`."""
    resources = scene.template().find_resources(kind)
    (name,) = (name for name in resources if text in name)
    return dict(resources[name])


def test_config_has_role_and_network_but_no_model(scene: Scene) -> None:
    vpc = ec2.Vpc(scene.stack, "Vpc", max_azs=2)
    scene.endpoint(variant(scene), vpc=vpc)
    config = scene.properties(CONFIG)
    (production_variant,) = config["ProductionVariants"]
    assert "ModelName" not in production_variant
    assert production_variant["ManagedInstanceScaling"] == {
        "MaxInstanceCount": 2,
        "MinInstanceCount": 0,
        "Status": "ENABLED",
    }
    assert config["ExecutionRoleArn"]["Fn::GetAtt"][0].startswith("EndpointRole")
    assert len(config["VpcConfig"]["Subnets"]) == 2
    assert "VpcConfig" not in scene.properties(MODEL)


def test_endpoint_has_no_deployment_config(scene: Scene) -> None:
    scene.endpoint(variant(scene))
    assert scene.properties(ENDPOINT).keys() == {"EndpointConfigName", "EndpointName"}


def test_each_model_is_a_component(scene: Scene) -> None:
    scene.endpoint(variant(scene, "one", "two"), update=Rolling(percent=25))
    component_properties = resource_by_id(scene, COMPONENT, "two")["Properties"]
    assert component_properties["InferenceComponentName"] == "under-test-two"
    assert component_properties["VariantName"] == "AllTraffic"
    assert component_properties["RuntimeConfig"] == {"CopyCount": 1}
    assert component_properties["Specification"]["ComputeResourceRequirements"] == {
        "MinMemoryRequiredInMb": 2048,
        "NumberOfAcceleratorDevicesRequired": 1,
        "NumberOfCpuCoresRequired": 2,
    }
    (model, _) = component_properties["Specification"]["ModelName"]["Fn::GetAtt"]
    container = scene.template().find_resources(MODEL)[model]["Properties"]["PrimaryContainer"]
    assert container["ModelDataUrl"]["Fn::Join"][1][-1] == "/test/two.tar.gz"
    assert container["Mode"] == "SingleModel"


def test_component_has_rolling_update_and_rollback_alarms(scene: Scene) -> None:
    scene.endpoint(variant(scene), update=Rolling(percent=25, wait=Duration.minutes(2)))
    deployment = scene.properties(COMPONENT)["DeploymentConfig"]
    policy = deployment["RollingUpdatePolicy"]
    assert policy["MaximumBatchSize"] == {"Type": "CAPACITY_PERCENT", "Value": 25}
    assert policy["WaitIntervalInSeconds"] == 120
    alarms = scene.template().find_resources(ALARM)
    names = [
        alarm["AlarmName"]["Ref"] for alarm in deployment["AutoRollbackConfiguration"]["Alarms"]
    ]
    assert len(names) == 2
    for name in names:
        properties = alarms[name]["Properties"]
        dimension = {"Name": "InferenceComponentName", "Value": "under-test-one"}
        assert properties["Dimensions"] == [dimension]
        # An updated alarm keeps its state, so each version of the model gets a new alarm.
        assert {"Fn::GetAtt": ["EndpointModelAllTrafficone", "ModelName"]}.keys() <= (
            properties["AlarmName"]["Fn::Join"][1][-1].keys()
        )


def test_all_at_once_uses_the_maximum_batch_size(scene: Scene) -> None:
    scene.endpoint(variant(scene))
    policy = scene.properties(COMPONENT)["DeploymentConfig"]["RollingUpdatePolicy"]
    assert policy["MaximumBatchSize"]["Value"] == 50
    assert policy["WaitIntervalInSeconds"] == 0


def logical_ids(type_name: str) -> set[str]:
    """Return the logical IDs of an endpoint and its component on an instance type."""
    scene = Scene()
    endpoint = scene.endpoint(variant(scene, type_name=type_name, accelerators=1))
    endpoint.components[0].auto_scale_copy_count(max_capacity=2).scale_on_concurrency(
        "Concurrency", requests_per_copy=4
    )
    resources = scene.template().to_json()["Resources"]
    return {
        name for name, resource in resources.items() if resource["Type"] in (ENDPOINT, COMPONENT)
    }


def test_new_instance_type_replaces_endpoint_and_components() -> None:
    assert not logical_ids("ml.g5.2xlarge") & logical_ids("ml.g6.2xlarge")


def test_component_scales_from_zero_on_the_first_invocation(scene: Scene) -> None:
    endpoint = scene.endpoint(variant(scene))
    scaling = endpoint.components[0].auto_scale_copy_count(min_capacity=0, max_capacity=4)
    scaling.scale_on_invocations("Invocations", max_requests_per_second=60)
    target = scene.properties(TARGET)
    assert target["ResourceId"] == "inference-component/under-test-one"
    assert target["ScalableDimension"] == "sagemaker:inference-component:DesiredCopyCount"
    assert (target["MinCapacity"], target["MaxCapacity"]) == (0, 4)
    step = resource_by_id(scene, POLICY, "Wake")["Properties"]["StepScalingPolicyConfiguration"]
    assert step["StepAdjustments"] == [{"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}]
    assert step["Cooldown"] == 60
    alarm = resource_by_id(scene, ALARM, "Wake")["Properties"]
    assert alarm["MetricName"] == "NoCapacityInvocationFailures"
    assert (alarm["Statistic"], alarm["Threshold"]) == ("Sum", 1)
    (action,) = alarm["AlarmActions"]
    assert "Wake" in action["Ref"]
    tracking = resource_by_id(scene, POLICY, "Invocations")["Properties"]
    specification = tracking["TargetTrackingScalingPolicyConfiguration"]
    assert specification["TargetValue"] == 1800
    assert specification["PredefinedMetricSpecification"] == {
        "PredefinedMetricType": "SageMakerInferenceComponentInvocationsPerCopy"
    }
    assert endpoint.problems == []


def test_component_scaling_target_depends_on_component(scene: Scene) -> None:
    endpoint = scene.endpoint(variant(scene))
    scaling = endpoint.components[0].auto_scale_copy_count(max_capacity=2)
    scaling.scale_on_concurrency("Concurrency", requests_per_copy=4)
    (component_id,) = scene.template().find_resources(COMPONENT)
    (target,) = scene.template().find_resources(TARGET).values()
    assert component_id in target["DependsOn"]


def test_grant_invoke_includes_the_component(scene: Scene) -> None:
    endpoint = scene.endpoint(variant(scene, "one", "two"))
    user = iam.User(scene.stack, "User")
    endpoint.grant_invoke(user, models=["two"])
    policy = json.dumps(resource_by_id(scene, "AWS::IAM::Policy", "User"))
    assert ":endpoint/under-test" in policy
    assert ":inference-component/under-test-two" in policy
    assert "under-test-one" not in policy


def test_each_component_has_alarms_and_a_dashboard_row(scene: Scene) -> None:
    scene.endpoint(variant(scene, "one", "two")).monitor()
    alarm = resource_by_id(scene, ALARM, "twoServerErrorswarning")["Properties"]
    assert alarm["AlarmDescription"].endswith("of under-test, component two")
    body = json.dumps(scene.properties(DASHBOARD)["DashboardBody"])
    for text in ("# one", "# two", "NoCapacityInvocationFailures", "GPUUtilizationNormalized"):
        assert text in body


def test_cpu_component_has_no_gpu_chart(scene: Scene) -> None:
    cpu_variant = variant(scene, type_name="ml.c5.xlarge", accelerators=None)
    scene.endpoint(cpu_variant).monitor()
    assert "GPUUtilizationNormalized" not in json.dumps(scene.properties(DASHBOARD))


def two_variants(scene: Scene) -> TritonEndpoint:
    return scene.endpoint(variant(scene), replace(variant(scene), variant_name="Other"))


def with_data_capture(scene: Scene) -> TritonEndpoint:
    records = s3.Bucket.from_bucket_name(scene.stack, "Records", "records")
    return scene.endpoint(variant(scene), data_capture=DataCapture(bucket=records, prefix="a"))


def with_triton_metrics(scene: Scene) -> TritonEndpoint:
    metrics = PublishedMetrics(log_group="logs", namespace="Triton")
    container = scene.container(options=ServerOptions(publish_metrics=metrics))
    return scene.endpoint(replace(variant(scene), container=container))


def with_inverted_limits(scene: Scene) -> TritonEndpoint:
    endpoint = scene.endpoint(variant(scene))
    endpoint.components[0].auto_scale_copy_count(min_capacity=4, max_capacity=2)
    return endpoint


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (
            two_variants,
            "variants: inference components support one variant only: remove the other variants",
        ),
        (
            lambda scene: scene.endpoint(variant(scene), update=Canary()),
            "update: components have no canary updates: write rolling",
        ),
        (with_data_capture, "data_capture: not known to work for components: remove it"),
        (
            with_triton_metrics,
            "variants.AllTraffic.container.options: not known to work for components",
        ),
        (
            lambda scene: scene.endpoint(variant(scene, name="a" * 64)),
            "variants.AllTraffic.hosting.components.one.name: 'aaaa",
        ),
        (
            lambda scene: scene.endpoint(variant(scene, accelerators=None)),
            "variants.AllTraffic.hosting.components.one: the archive is built for the GPU of "
            "ml.g5.2xlarge: write accelerators: 1",
        ),
        (
            lambda scene: scene.endpoint(
                variant(scene, type_name="ml.g5.xlarge", memory=Size.gibibytes(4))
            ),
            "variants.AllTraffic.hosting.components.one: SageMaker rejected 4096 MB on "
            "ml.g5.xlarge",
        ),
        (
            lambda scene: scene.endpoint(variant(scene, initial_copy_count=0)),
            "variants.AllTraffic.hosting.components.one.initial_copy_count: SageMaker creates",
        ),
        (
            with_inverted_limits,
            "components.one.auto_scale_copy_count: 2 is less than the minimum, 4",
        ),
    ],
)
def test_unsupported_settings_are_problems(scene: Scene, make, problem: str) -> None:  # type: ignore[no-untyped-def]
    problems = make(scene).validate()
    assert any(message.startswith(problem) for message in problems), problems
