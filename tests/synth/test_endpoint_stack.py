"""EndpointStack: what a stage's settings make of an endpoint, and in which order it is deployed."""

import json
import re
from dataclasses import fields, replace
from typing import Any

import pytest
from aws_cdk import Annotations, App, Environment
from aws_cdk.assertions import Match, Template

from checked_yaml import LocatedErrors
from stacks.endpoint_stack import EndpointStack
from stacks.model_stack import ModelStack
from stages import StageConfig
from stages.plan import StagePlan, planned_model
from stages.schema.server import ServerConfig
from tests.synth.conftest import Templates
from triton_sagemaker import ServerOptions

MODEL, CONFIG, ENDPOINT = (
    f"AWS::SageMaker::{each}" for each in ("Model", "EndpointConfig", "Endpoint")
)
TOPIC = "arn:aws:sns:us-east-1:123456789012:on-call"
BUILD, CHECK = "Custom::TritonModel", "Custom::TritonUpdateCheck"
ENTRY = "AWS::SSM::Parameter"


def text_endpoint(
    *,
    production: bool = False,
    region: str = "us-east-1",
    release: str = "25.09",
    python: str | None = None,
    **settings: Any,
) -> Template:
    """The endpoint of a stage, by default a trial stage, that serves minilm."""
    settings = {
        **{"models": ["minilm"], "instance_type": "ml.g5.xlarge", "instance_count": 2},
        **settings,
    }
    stage = StageConfig.model_validate(
        {
            **{
                "region": region,
                "release": release,
                "production": production,
                "notify": {"topics": [TOPIC]} if production else {},
            },
            "endpoints": {"text": settings},
        }
    )
    app, env = App(), Environment(region=region)
    stack = EndpointStack(
        app,
        "dev-text",
        stage_name="dev",
        stage=stage,
        plan=StagePlan.of("dev", stage, python=python).endpoints["text"],
        models=ModelStack(app, "dev-models", stage_name="dev", stage=stage, env=env),
        network=None,
        env=env,
    )
    return Template.from_stack(stack)


def waits_for(template: dict[str, Any], kind: str) -> list[list[str]]:
    """The kinds of resources that each resource of a kind waits for."""
    resources = template["Resources"]
    return [
        [resources[name]["Type"] for name in resource.get("DependsOn", ())]
        for resource in resources.values()
        if resource["Type"] == kind
    ]


@pytest.mark.parametrize(
    ("settings", "warned"),
    [
        ({"instance_count": 1}, False),
        ({"instance_count": 2}, True),
        (
            {"instance_count": 1, "scaling": {"min_count": 1, "max_count": 4, "cpu_percent": 60}},
            True,
        ),
    ],
)
def test_a_stateful_model_on_several_instances_gets_a_warning(
    settings: dict[str, Any], warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stateful = replace(planned_model("minilm"), is_stateful=True)
    monkeypatch.setattr("stages.plan.planned_model", lambda _: stateful)
    warnings: list[str] = []
    monkeypatch.setattr(Annotations, "add_warning_v2", lambda _, *added: warnings.append(added[0]))
    text_endpoint(instance_type="ml.m5.xlarge", **settings)
    assert ("stateful-model" in warnings) is warned


def test_an_engine_is_refused_where_codebuild_has_no_gpu() -> None:
    place = r"models/minilm/recipe\.yaml: encoder/1/model\.plan: "
    with pytest.raises(LocatedErrors, match=place + "CodeBuild has no GPU in this region"):
        text_endpoint(region="eu-north-1")
    text_endpoint(region="eu-north-1", instance_type="ml.m5.xlarge")


# Order


def test_an_endpoint_takes_over_only_when_every_model_is_built(templates: Templates) -> None:
    # Without it, instances of a new release would ask for archives that are not there yet.
    two_models = templates("examples")["examples-text"]
    assert [kinds.count(BUILD) for kinds in waits_for(two_models, MODEL)] == [2]


def test_an_entry_waits_for_its_own_builds_and_the_check_alone(templates: Templates) -> None:
    # Clients are sent to an archive that is built, when instances serve it; a dashboard or an alarm
    # that fails must not keep them on the old one.
    resources = templates("examples")["examples-text"]["Resources"]
    entries = [resource for resource in resources.values() if resource["Type"] == ENTRY]
    assert len(entries) == 2
    for entry in entries:
        needed = {resources[name]["Type"]: resources[name] for name in entry["DependsOn"]}
        assert needed.keys() == {BUILD, CHECK}
        model = json.loads(entry["Properties"]["Value"])["model"]
        assert needed[BUILD]["Properties"]["Model"] == model
    assert [ENDPOINT in kinds for kinds in waits_for({"Resources": resources}, CHECK)] == [True]


# Builds


def test_variants_of_one_kind_of_gpu_share_a_build() -> None:
    # Two resources with one archive would build it twice, and race for its key.
    variants = {"Small": {}, "Large": {"instance_type": "ml.g5.4xlarge"}}
    text_endpoint(variants=variants).resource_count_is(BUILD, 1)


def test_variants_of_two_kinds_of_gpus_have_a_build_each() -> None:
    variants = {"Old": {}, "New": {"instance_type": "ml.g6.xlarge"}}
    template = text_endpoint(variants=variants)
    for target in ("cuda-25.09-sm86", "cuda-25.09-sm89"):
        template.has_resource_properties(BUILD, {"Target": target})


def test_archives_for_another_python_have_a_prefix_of_their_own() -> None:
    template = text_endpoint(instance_type="ml.m5.xlarge", python="3.11")
    template.has_resource_properties(
        BUILD,
        {"Target": "cpu-25.09-py311", "Key": Match.string_like_regexp("^text/cpu-25.09-py311/")},
    )
    assert "text/cpu-25.09-py311/" in json.dumps(template.find_resources(MODEL))
    unchanged = text_endpoint(instance_type="ml.m5.xlarge", python="3.12").to_json()
    assert unchanged == text_endpoint(instance_type="ml.m5.xlarge").to_json()


def test_an_engine_for_a_gpu_that_the_builder_cannot_compile_for_is_refused() -> None:
    with pytest.raises(LocatedErrors) as raised:
        text_endpoint(instance_type="ml.g4dn.xlarge")
    assert str(raised.value) == (
        "models/minilm/recipe.yaml: encoder/1/model.plan: an "
        "engine for compute capability 7.5 cannot be compiled on a builder with 8.6: TensorRT "
        "compiles across kinds of GPUs from 8.0 up only. Choose an instance type with a GPU of 8.0 "
        "or newer (ml.g5 has 8.6), or serve the model as ONNX or TorchScript, which need no engine"
    )


# Volumes


def test_the_models_key_encrypts_volumes(templates: Templates) -> None:
    text = Template.from_json(templates("local")["local-text"])
    text.has_resource_properties(
        CONFIG,
        {"KmsKeyId": {"Fn::ImportValue": Match.string_like_regexp("local-models:.*ModelsKey")}},
    )


@pytest.mark.parametrize("other", ["ml.g5.xlarge", "ml.m5.xlarge"])
def test_no_key_is_given_where_a_variant_has_no_volume_to_encrypt(other: str) -> None:
    # NVMe storage is encrypted by its hardware, and SageMaker may refuse a key for it.
    variants = {"Nvme": {}, "Other": {"instance_type": other}}
    text_endpoint(variants=variants).has_resource_properties(CONFIG, {"KmsKeyId": Match.absent()})


# Catalog


def test_catalog_entry_says_how_to_invoke(endpoint_template: Template) -> None:
    (entry,) = endpoint_template.find_resources(ENTRY).values()
    assert entry["Properties"]["Name"] == "/triton/prod/text/minilm"
    value = json.loads(entry["Properties"]["Value"])
    assert value["endpoint"] == "prod-text"
    assert value["target_model"] == f"minilm-{value['version']}.tar.gz"
    assert value["signature"]["inputs"] == [{"name": "TEXT", "datatype": "BYTES", "shape": [-1, 1]}]


def test_catalog_entry_of_a_single_model_endpoint_has_no_target_model(templates: Templates) -> None:
    template = Template.from_json(templates("prod")["prod-search"])
    (entry,) = template.find_resources(ENTRY).values()
    assert json.loads(entry["Properties"]["Value"])["target_model"] is None


# Settings


def test_a_canary_is_as_large_and_watched_as_long_as_the_stage_says() -> None:
    update = {"strategy": "canary", "percent": 25, "wait_seconds": 1200}
    routing = {
        "Type": "CANARY",
        "CanarySize": {"Type": "CAPACITY_PERCENT", "Value": 25},
        "WaitIntervalInSeconds": 1200,
    }
    text_endpoint(update=update).has_resource_properties(
        ENDPOINT,
        {"DeploymentConfig": {"BlueGreenUpdatePolicy": {"TrafficRoutingConfiguration": routing}}},
    )


def test_triton_s_own_metrics_are_published_and_drawn(every_template: Templates) -> None:
    endpoint = Template.from_json(every_template("plain")["plain-volumes"])
    message = {
        "SAGEMAKER_TRITON_ALLOW_METRICS": "true",
        "SAGEMAKER_TRITON_PUBLISH_METRICS_TO_CLOUDWATCH": "true",
        "SAGEMAKER_TRITON_CLOUDWATCH_LOG_GROUP": (
            "/aws/sagemaker/Endpoints/plain-volumes/triton-metrics"
        ),
        "SAGEMAKER_TRITON_METRIC_NAMESPACE": "Triton/plain-volumes",
    }
    endpoint.has_resource_properties(MODEL, {"PrimaryContainer": {"Environment": message}})
    (dashboard,) = endpoint.find_resources("AWS::CloudWatch::Dashboard").values()
    drawn = json.dumps(dashboard)
    for name in ("nv_inference_request_failure", "nv_inference_queue_duration_us"):
        assert re.search(
            rf"SEARCH\('Namespace=\W+Triton/plain-volumes\W+MetricName=\W+{name}", drawn
        )
    groups = Template.from_json(every_template("plain")["plain-models"])
    groups.has_resource_properties(
        "AWS::Logs::LogGroup", {"LogGroupName": message["SAGEMAKER_TRITON_CLOUDWATCH_LOG_GROUP"]}
    )


@pytest.mark.parametrize("production", [False, True])
def test_nothing_is_published_by_variables_that_nobody_confirmed(production: bool) -> None:
    template = text_endpoint(production=production)
    assert "PUBLISH_METRICS" not in json.dumps(template.find_resources(MODEL))


@pytest.mark.parametrize("detailed", [False, True])
def test_detailed_observability_is_what_the_stage_says(detailed: bool) -> None:
    text_endpoint(detailed_observability=detailed).has_resource_properties(
        CONFIG, {"MetricsConfig": {"EnableDetailedObservability": detailed}}
    )


def test_an_endpoint_can_scale_by_its_cpus() -> None:
    scaling = {"min_count": 2, "max_count": 4, "cpu_percent": 60}
    text_endpoint(instance_type="ml.m5.xlarge", scaling=scaling).has_resource_properties(
        "AWS::ApplicationAutoScaling::ScalingPolicy",
        {"TargetTrackingScalingPolicyConfiguration": {"TargetValue": 240}},
    )


def test_an_update_is_rolled_back_at_the_share_of_failures_that_the_stage_says() -> None:
    update = {"strategy": "all-at-once", "rollback_error_rate": 0.4}
    text_endpoint(update=update).has_resource_properties(
        "AWS::CloudWatch::Alarm", {"MetricName": "InvocationModelErrors", "Threshold": 0.4}
    )


def test_alarms_have_the_thresholds_that_the_stage_says() -> None:
    alarms = {"server_error_rate": {"critical": 0.2}}
    text_endpoint(production=True, alarms=alarms).has_resource_properties(
        "AWS::CloudWatch::Alarm", {"MetricName": "Invocation5XXErrors", "Threshold": 0.2}
    )


def test_alarms_are_told_to_the_stage_s_topic_and_to_those_that_it_names(
    templates: Templates,
) -> None:
    named = text_endpoint(production=True).find_resources("AWS::CloudWatch::Alarm")
    assert [TOPIC] in [each["Properties"].get("AlarmActions") for each in named.values()]
    (own,) = (
        resource["Properties"]["TopicName"]
        for resource in templates("prod")["prod-models"]["Resources"].values()
        if resource["Type"] == "AWS::SNS::Topic"
    )
    messages = json.dumps(templates("prod")["prod-text"])
    assert f':{own}"' in messages


def test_every_variant_scales_by_load_and_by_gpu(templates: Templates) -> None:
    # Heavy requests fill GPUs before their number says so, light ones the other way round.
    policies = Template.from_json(templates("prod")["prod-search"]).find_resources(
        "AWS::ApplicationAutoScaling::ScalingPolicy"
    )
    assert sorted(policy["Properties"]["PolicyName"] for policy in policies.values()) == [
        f"endpoint-prod-search-variant-{variant}-{target}"
        for variant in ("Large", "Standard")
        for target in ("Gpu", "Invocations")
    ]


def test_one_model_s_instances_are_told_which_of_the_archive_s_models_to_serve(
    templates: Templates,
) -> None:
    # The archive of an ensemble holds its steps too, and the container ends where it must choose.
    search = Template.from_json(templates("prod")["prod-search"])
    environment = {"SAGEMAKER_TRITON_DEFAULT_MODEL_NAME": "minilm"}
    search.all_resources_properties(MODEL, {"PrimaryContainer": {"Environment": environment}})


# Stages


def test_a_trial_stage_has_nothing_that_only_production_needs(templates: Templates) -> None:
    resources = templates("dev")["dev-text"]["Resources"].values()
    assert sorted(resource["Type"] for resource in resources) == [
        "AWS::CloudWatch::Alarm",  # rolls updates back, and so does the next
        "AWS::CloudWatch::Alarm",
        "AWS::IAM::Policy",
        "AWS::IAM::Role",
        "AWS::SSM::Parameter",
        "AWS::SageMaker::Endpoint",
        "AWS::SageMaker::EndpointConfig",
        "AWS::SageMaker::Model",
        "Custom::TritonModel",
        "Custom::TritonUpdateCheck",
        "Custom::TritonUpdateGuard",
    ]


def test_an_update_is_guarded_and_clients_are_told_of_it_when_it_is_checked(
    templates: Templates,
) -> None:
    resources = templates("dev")["dev-text"]["Resources"]

    def only(kind: str) -> str:
        (result,) = (name for name, each in resources.items() if each["Type"] == kind)
        return str(result)

    guard, check = only("Custom::TritonUpdateGuard"), only("Custom::TritonUpdateCheck")
    assert guard in resources[only(ENDPOINT)]["DependsOn"]
    assert only(ENDPOINT) in resources[check]["DependsOn"]
    assert check in resources[only("AWS::SSM::Parameter")]["DependsOn"]
    config = {"Fn::GetAtt": [only(CONFIG), "EndpointConfigName"]}
    for name in (guard, check):
        assert resources[name]["Properties"]["ConfigName"] == config
        assert resources[name]["Properties"]["Endpoint"] == "dev-text"
    assert resources[guard]["Properties"]["Catalog"] == "/triton/dev/text"
    entry = json.loads(resources[only("AWS::SSM::Parameter")]["Properties"]["Value"])
    assert resources[guard]["Properties"]["Archives"] == [entry["target_model"]]


def test_the_guard_is_asked_before_every_update_also_of_the_update_policy_alone() -> None:
    def guard(wait: int) -> dict[str, Any]:
        update = {"strategy": "canary", "wait_seconds": wait}
        return dict(text_endpoint(update=update).find_resources("Custom::TritonUpdateGuard"))

    assert guard(60) != guard(90)


def test_variants_scale_only_after_the_update_was_checked(templates: Templates) -> None:
    resources = templates("prod")["prod-text"]["Resources"]
    targets = [
        resource["DependsOn"]
        for resource in resources.values()
        if resource["Type"] == "AWS::ApplicationAutoScaling::ScalableTarget"
    ]
    assert targets
    for depends_on in targets:
        assert [resources[name]["Type"] for name in depends_on] == ["Custom::TritonUpdateCheck"]


def test_a_private_endpoint_is_deleted_with_its_network_interfaces_before_its_security_group(
    templates: Templates,
) -> None:
    resources = templates("prod")["prod-text"]["Resources"]
    names = {resource["Type"]: name for name, resource in resources.items()}
    guard = resources[names["Custom::TritonUpdateGuard"]]["Properties"]
    group = {"Fn::GetAtt": [names["AWS::EC2::SecurityGroup"], "GroupId"]}
    assert guard["SecurityGroup"] == group
    assert group in resources[names[MODEL]]["Properties"]["VpcConfig"]["SecurityGroupIds"]
    assert "SecurityGroup" not in str(templates("dev")["dev-text"])


def test_the_guard_and_the_check_look_again_every_fifteen_seconds_for_less_than_an_hour(
    templates: Templates,
) -> None:
    (machine,) = (
        resource["Properties"]["DefinitionString"]["Fn::Join"][1]
        for name, resource in templates("dev")["dev-models"]["Resources"].items()
        if resource["Type"] == "AWS::StepFunctions::StateMachine" and "UpdateChecks" in name
    )
    (definition,) = (each for each in machine if isinstance(each, str) and "MaxAttempts" in each)
    assert '"IntervalSeconds":15,"MaxAttempts":220,"BackoffRate":1' in definition


def test_a_stage_without_gpus_serves_from_the_cpu_image(templates: Templates) -> None:
    text = Template.from_json(templates("local")["local-text"])
    text.has_resource_properties(
        MODEL, {"PrimaryContainer": {"Image": Match.string_like_regexp(":24.09-py3-cpu$")}}
    )
    variant = {"InferenceAmiVersion": Match.absent(), "InstanceType": "ml.m5.xlarge"}
    text.has_resource_properties(CONFIG, {"ProductionVariants": [Match.object_like(variant)]})


@pytest.mark.parametrize("name", ["prod-text", "prod-vision", "prod-search"])
def test_production_endpoints_are_safe(templates: Templates, name: str) -> None:
    template = Template.from_json(templates("prod")[name])
    template.has_resource_properties(
        ENDPOINT,
        {
            "DeploymentConfig": {
                "AutoRollbackConfiguration": {"Alarms": Match.any_value()},
                "BlueGreenUpdatePolicy": {"TrafficRoutingConfiguration": {"Type": "CANARY"}},
            }
        },
    )
    template.all_resources_properties(
        "AWS::ApplicationAutoScaling::ScalableTarget", {"MinCapacity": 2}
    )
    template.all_resources_properties(MODEL, {"VpcConfig": Match.any_value()})
    template.resource_count_is("AWS::CloudWatch::Dashboard", 1)


# What a stage can ask of servers, scaling and hosting


def variables(template: Template) -> dict[str, str]:
    (model,) = template.find_resources(MODEL).values()
    result: dict[str, str] = model["Properties"]["PrimaryContainer"]["Environment"]
    return result


def test_a_server_s_options_are_those_of_the_stage() -> None:
    server = {
        "log_verbose": 2,
        "log_info": False,
        "log_warning": True,
        "log_error": True,
        "thread_count": 16,
        "buffer_manager_thread_count": 2,
        "python_shm_default_mib": 64,
        "python_shm_growth_mib": 8,
        "model_load_gpu_limit": 0.8,
        "model_namespacing": False,
        "ping_mode": "live",
        "inference_type": "generate",
        "additional_args": "--exit-timeout-secs=60",
    }
    message = variables(text_endpoint(hosting="single-model", server=server))
    assert {name.removeprefix("SAGEMAKER_TRITON_"): each for name, each in message.items()} == {
        "ADDITIONAL_ARGS": "--exit-timeout-secs=60",
        "BUFFER_MANAGER_THREAD_COUNT": "2",
        "DEFAULT_MODEL_NAME": "minilm",
        "DISABLE_MODEL_NAMESPACING": "false",
        "INFERENCE_TYPE": "generate",
        "LOG_ERROR": "true",
        "LOG_INFO": "false",
        "LOG_VERBOSE": "2",
        "LOG_WARNING": "true",
        "MODEL_LOAD_GPU_LIMIT": "0.8",
        "OVERRIDE_PING_MODE": "live",
        "PING_MODE": "live",
        "SHM_DEFAULT_BYTE_SIZE": str(64 * 1024 * 1024),
        "SHM_GROWTH_BYTE_SIZE": str(8 * 1024 * 1024),
        "THREAD_COUNT": "16",
    }


def test_a_stage_can_set_every_option_that_reaches_the_server() -> None:
    in_mib = {"python_shm_default", "python_shm_growth"}
    options = {field.name for field in fields(ServerOptions)} - in_mib - {"publish_metrics"}
    assert set(ServerConfig.model_fields) == options | {f"{each}_mib" for each in in_mib}


def test_variables_of_one_s_own_stand_beside_the_server_s() -> None:
    message = variables(text_endpoint(environment={"OMP_NUM_THREADS": "4"}))
    assert message["OMP_NUM_THREADS"] == "4"
    assert message["SAGEMAKER_TRITON_PING_MODE"] == "live"


def test_models_need_not_stay_in_memory_and_no_alarm_says_so() -> None:
    template = text_endpoint(production=True, cache_models=False)
    template.has_resource_properties(
        MODEL, {"PrimaryContainer": {"MultiModelConfig": {"ModelCacheSetting": "Disabled"}}}
    )
    alarms = json.dumps(template.find_resources("AWS::CloudWatch::Alarm"))
    assert "ModelLoadingWaitTime" in alarms
    for metric in ("ModelCacheHit", "ModelUnloadingTime", "LoadedModelCount"):
        assert metric not in alarms
        assert metric in json.dumps(text_endpoint(production=True).to_json())


def test_scaling_follows_concurrency_with_the_stage_s_cooldowns() -> None:
    scaling = {
        **{"min_count": 2, "max_count": 4, "concurrency": 5, "gpu_percent": 70},
        **{"scale_out_cooldown_seconds": 0},
    }
    template = text_endpoint(hosting="single-model", scaling=scaling)
    policies = template.find_resources("AWS::ApplicationAutoScaling::ScalingPolicy")
    result = {
        policy["Properties"]["PolicyName"].rpartition("-")[2]: policy["Properties"][
            "TargetTrackingScalingPolicyConfiguration"
        ]
        for policy in policies.values()
    }
    assert result["Concurrency"]["TargetValue"] == 5
    cooldowns = {
        name: (each["ScaleOutCooldown"], each["ScaleInCooldown"]) for name, each in result.items()
    }
    assert cooldowns == {"Concurrency": (0, 300), "Gpu": (0, 600)}


@pytest.mark.parametrize("strategy", ["all-at-once", "canary", "linear", "rolling"])
def test_scaling_limits_leave_the_endpoint_as_it_is(strategy: str) -> None:
    # Else UpdateEndpoint would be called with the configuration that serves.
    night = {"at": "cron(0 20 ? * MON-FRI *)", "min_count": 2, "max_count": 9}
    scaling = {"min_count": 2, "max_count": 4, "max_rps": 9}

    def endpoint(**more: Any) -> dict[str, Any]:
        update = {"strategy": strategy, "percent": 50, "wait_seconds": 60}
        return dict(text_endpoint(update=update, **more).find_resources(ENDPOINT))

    assert endpoint() == endpoint(scaling=scaling)
    assert endpoint() == endpoint(
        scaling={**scaling, "max_count": 8, "schedules": {"night": night}}
    )


def test_schedules_change_the_limits() -> None:
    night = {"at": "cron(0 20 ? * MON-FRI *)", "min_count": 2, "max_count": 40}
    scaling = {"min_count": 2, "max_count": 4, "max_rps": 9, "schedules": {"night": night}}
    text_endpoint(scaling=scaling).has_resource_properties(
        "AWS::ApplicationAutoScaling::ScalableTarget",
        {
            "ScheduledActions": [
                {
                    "ScalableTargetAction": {"MaxCapacity": 40, "MinCapacity": 2},
                    "Schedule": "cron(0 20 ? * MON-FRI *)",
                    "ScheduledActionName": "night",
                    "Timezone": "UTC",
                }
            ]
        },
    )
