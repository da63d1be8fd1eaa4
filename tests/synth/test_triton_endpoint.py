"""TritonEndpoint, EndpointRole, TritonContainer and ModelCatalog."""

import json
from typing import Any

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Match, Template

from platform_facts import Processor, instance_type, region, release
from tests.synth.conftest import Templates
from triton_sagemaker import (
    Instances,
    ModelBucket,
    MultiModelHosting,
    ServerOptions,
    TritonContainer,
    TritonEndpoint,
)


def test_model_is_multi_model_below_a_prefix_that_ends_in_a_slash(
    endpoint_template: Template,
) -> None:
    (model,) = endpoint_template.find_resources("AWS::SageMaker::Model").values()
    container = model["Properties"]["PrimaryContainer"]
    assert container["Mode"] == "MultiModel"
    assert container["ModelDataUrl"]["Fn::Join"][1][-1] == "/text/cuda-25.09-sm86/"


def test_image_is_the_region_s_image_of_the_release(endpoint_template: Template) -> None:
    endpoint_template.has_resource_properties(
        "AWS::SageMaker::Model",
        {
            "PrimaryContainer": {
                "Image": "763104351884.dkr.ecr.us-east-1.amazonaws.com/"
                "sagemaker-tritonserver:25.09-py3"
            }
        },
    )


def test_one_model_that_fails_to_load_leaves_the_instance_healthy(
    endpoint_template: Template,
) -> None:
    endpoint_template.has_resource_properties(
        "AWS::SageMaker::Model",
        {"PrimaryContainer": {"Environment": {"SAGEMAKER_TRITON_PING_MODE": "live"}}},
    )


def test_model_and_config_have_no_names_and_the_endpoint_keeps_its_own(
    endpoint_template: Template,
) -> None:
    (model,) = endpoint_template.find_resources("AWS::SageMaker::Model").values()
    (config,) = endpoint_template.find_resources("AWS::SageMaker::EndpointConfig").values()
    assert "ModelName" not in model["Properties"]
    assert "EndpointConfigName" not in config["Properties"]
    endpoint_template.has_resource_properties(
        "AWS::SageMaker::Endpoint", {"EndpointName": "prod-text"}
    )


def test_model_waits_for_its_archives_and_for_the_role_s_rights(
    endpoint_template: Template,
) -> None:
    (model,) = endpoint_template.find_resources("AWS::SageMaker::Model").values()
    kinds = _kinds(endpoint_template, model["DependsOn"])
    assert {"AWS::IAM::Policy", "Custom::TritonModel"} <= kinds


def test_catalog_names_a_new_archive_only_when_the_endpoint_can_serve_it(
    endpoint_template: Template,
) -> None:
    (entry,) = endpoint_template.find_resources("AWS::SSM::Parameter").values()
    kinds = _kinds(endpoint_template, entry["DependsOn"])
    assert {"AWS::SageMaker::Endpoint", "Custom::TritonModel"} <= kinds


def test_catalog_entry_says_how_to_invoke(endpoint_template: Template) -> None:
    (entry,) = endpoint_template.find_resources("AWS::SSM::Parameter").values()
    assert entry["Properties"]["Name"] == "/triton/prod/text/minilm"
    value = json.loads(entry["Properties"]["Value"])
    assert value["endpoint"] == "prod-text"
    assert value["target_model"] == f"minilm-{value['version']}.tar.gz"
    assert value["signature"]["inputs"] == [{"name": "TEXT", "datatype": "BYTES", "shape": [-1, 1]}]


def test_gpu_instances_get_the_driver_that_the_image_needs(endpoint_template: Template) -> None:
    assert _variant(endpoint_template)["InferenceAmiVersion"] == (
        "al2023-ami-sagemaker-inference-gpu-4-1"
    )


def test_cpu_instances_get_no_gpu_ami(templates: Templates) -> None:
    assert "InferenceAmiVersion" not in _variant(
        Template.from_json(templates("local")["local-text"])
    )


def test_production_starts_with_two_instances(endpoint_template: Template) -> None:
    assert _variant(endpoint_template)["InitialInstanceCount"] == 2


def test_role_reads_only_its_own_archives(endpoint_template: Template) -> None:
    by_sid = _statements(endpoint_template)
    assert by_sid["ReadOwnArchives"]["Resource"]["Fn::Join"][1][-1] == "/text/*"
    assert by_sid["ListOwnArchives"]["Condition"] == {"StringLike": {"s3:prefix": "text/*"}}
    assert by_sid["PullImage"]["Resource"] == (
        "arn:aws:ecr:us-east-1:763104351884:repository/sagemaker-tritonserver"
    )


def test_role_uses_no_managed_policy_and_star_only_where_no_resource_exists(
    endpoint_template: Template,
) -> None:
    (role,) = endpoint_template.find_resources("AWS::IAM::Role").values()
    assert "ManagedPolicyArns" not in role["Properties"]
    everywhere = {
        sid for sid, it in _statements(endpoint_template).items() if it["Resource"] == "*"
    }
    assert everywhere == {"LogInToRegistries", "PublishInstanceMetrics"}


def test_server_options_reach_the_container() -> None:
    options = ServerOptions(
        log_verbose=True,
        thread_count=4,
        buffer_manager_thread_count=2,
        python_shm_default_bytes=1 << 26,
        python_shm_growth_bytes=1 << 21,
        model_load_gpu_limit=0.8,
    )
    assert _container(options=options).multi_model_environment() == {
        "SAGEMAKER_TRITON_BUFFER_MANAGER_THREAD_COUNT": "2",
        "SAGEMAKER_TRITON_LOG_VERBOSE": "true",
        "SAGEMAKER_TRITON_MODEL_LOAD_GPU_LIMIT": "0.8",
        "SAGEMAKER_TRITON_PING_MODE": "live",
        "SAGEMAKER_TRITON_SHM_DEFAULT_BYTE_SIZE": "67108864",
        "SAGEMAKER_TRITON_SHM_GROWTH_BYTE_SIZE": "2097152",
        "SAGEMAKER_TRITON_THREAD_COUNT": "4",
    }


def test_environment_may_not_contradict_the_options() -> None:
    container = _container(environment={"SAGEMAKER_TRITON_PING_MODE": "ready"})
    with pytest.raises(ValueError, match="SAGEMAKER_TRITON_PING_MODE is set through ServerOptions"):
        container.multi_model_environment()


def test_environment_beyond_sagemaker_s_limits_is_refused() -> None:
    with pytest.raises(ValueError, match=r"102 entries of .* SageMaker takes at most 100 entries"):
        _container(environment={f"V{n}": "" for n in range(100)}).multi_model_environment()


@pytest.mark.parametrize("prefix", ["text", "/text/"])
def test_prefix_must_be_a_folder_of_the_bucket(prefix: str) -> None:
    with pytest.raises(ValueError, match=r"write it without a slash in front .* \"text/\""):
        MultiModelHosting(bucket=ModelBucket(_stack(), "Models"), prefix=prefix)


def test_instances_list_everything_that_is_wrong() -> None:
    with pytest.raises(
        ValueError, match=r"initial_count 0.*startup_timeout 10.*12xlarge cannot host"
    ):
        Instances(
            instance_type=instance_type("ml.g5.12xlarge"), initial_count=0, startup_timeout=10
        )


def test_cpu_image_on_a_gpu_instance_is_refused() -> None:
    with pytest.raises(ValueError, match="choose the image by the instance type"):
        _endpoint(_stack(), container=_container(processor=Processor.CPU))


def test_gpu_too_old_for_the_release_is_refused() -> None:
    with pytest.raises(ValueError, match=r"K80 of compute capability 3.7, Triton 25.09 needs 7.5"):
        _endpoint(_stack(), instances=Instances(instance_type=instance_type("ml.p2.xlarge")))


def test_grant_invoke_names_the_one_endpoint() -> None:
    stack = _stack()
    user = iam.User(stack, "User")
    _endpoint(stack).grant_invoke(user)
    Template.from_stack(stack).has_resource_properties(
        "AWS::IAM::Policy",
        {
            "PolicyDocument": {
                "Statement": [
                    {
                        "Action": "sagemaker:InvokeEndpoint",
                        "Effect": "Allow",
                        "Resource": {
                            "Fn::Join": ["", Match.array_with([":endpoint/under-test"])],
                        },
                    }
                ]
            }
        },
    )


def _stack() -> Stack:
    return Stack(App(), "Stack", env=Environment(region="us-east-1"))


def _container(**changes: Any) -> TritonContainer:
    defaults: dict[str, Any] = {
        "release": release("25.09"),
        "region": region("us-east-1"),
        "processor": Processor.GPU,
    }
    return TritonContainer(**(defaults | changes))


def _endpoint(stack: Stack, **changes: Any) -> TritonEndpoint:
    defaults: dict[str, Any] = {
        "endpoint_name": "under-test",
        "container": _container(),
        "hosting": MultiModelHosting(bucket=ModelBucket(stack, "Models"), prefix="test/"),
        "instances": Instances(instance_type=instance_type("ml.g5.xlarge")),
    }
    return TritonEndpoint(stack, "Endpoint", **(defaults | changes))


def _variant(template: Template) -> dict[str, Any]:
    (config,) = template.find_resources("AWS::SageMaker::EndpointConfig").values()
    (variant,) = config["Properties"]["ProductionVariants"]
    result: dict[str, Any] = variant
    return result


def _statements(template: Template) -> dict[str, dict[str, Any]]:
    (policy,) = template.find_resources("AWS::IAM::Policy").values()
    return {it["Sid"]: it for it in policy["Properties"]["PolicyDocument"]["Statement"]}


def _kinds(template: Template, logical_ids: list[str]) -> set[str]:
    resources = template.to_json()["Resources"]
    return {resources[name]["Type"] for name in logical_ids}
