"""EndpointStack: an endpoint with the settings of a stage, and the order of its deployment."""

import json
import re
from dataclasses import fields, replace
from typing import Any

import pytest
from aws_cdk import Annotations, App, Environment
from aws_cdk.assertions import Match, Template

from stacks.endpoint_stack import EndpointStack
from stacks.model_stack import ModelStack
from stages import StageConfig
from stages.plan import PlannedStage, checked_model
from stages.schema.server import ServerConfig
from tests.synth.conftest import templates_of
from tests.synth.endpoints import properties_of
from triton_sagemaker import ServerOptions

MODEL, CONFIG, ENDPOINT = (
    f"AWS::SageMaker::{kind}" for kind in ("Model", "EndpointConfig", "Endpoint")
)
TOPIC = "arn:aws:sns:us-east-1:123456789012:on-call"


def text_endpoint(
    *,
    production: bool = False,
    release: str = "25.09",
    **settings: Any,
) -> Template:
    """Return the template of an endpoint that serves minilm, by default of a trial stage."""
    settings = {
        **{"models": ["minilm"], "instance_type": "ml.g5.xlarge", "instance_count": 2},
        **settings,
    }
    stage = StageConfig.model_validate(
        {
            **{
                "region": "us-east-1",
                "release": release,
                "production": production,
                "notify": {"topics": [TOPIC]} if production else {},
            },
            "endpoints": {"text": settings},
        }
    )
    app, env = App(), Environment(region="us-east-1")
    planned = PlannedStage.of("dev", stage)
    stack = EndpointStack(
        app,
        "dev-text",
        stage=planned,
        endpoint="text",
        models=ModelStack(app, "dev-models", stage=planned, env=env),
        network=None,
        env=env,
    )
    return Template.from_stack(stack)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"instance_count": 1}, []),
        ({"instance_count": 2}, ["stateful-model"]),
        ({"instance_count": 1, "scaling": {"min_count": 1, "max_count": 4, "cpu_percent": 60}},
         ["stateful-model"]),
        ({"instance_count": 1, "publish_metrics": True}, ["published-metrics"]),
    ],
)  # fmt: skip
def test_warnings_of_models(
    settings: dict[str, Any], expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = replace(checked_model("minilm"), is_stateful=True, custom_metrics=("tokenizer",))
    monkeypatch.setattr("stages.plan.checked_model", lambda _: model)
    warnings: list[str] = []
    monkeypatch.setattr(Annotations, "add_warning_v2", lambda _, *added: warnings.append(added[0]))
    text_endpoint(instance_type="ml.m5.xlarge", **settings)
    of_models = {"stateful-model", "published-metrics"}
    assert [name for name in warnings if name in of_models] == expected


# Volumes


def test_volumes_are_encrypted_with_the_models_key() -> None:
    text = Template.from_json(templates_of("local")["local-text"])
    text.has_resource_properties(
        CONFIG,
        {"KmsKeyId": {"Fn::ImportValue": Match.string_like_regexp("local-models:.*ModelsKey")}},
    )


@pytest.mark.parametrize("other", ["ml.g5.xlarge", "ml.m5.xlarge"])
def test_nvme_variant_has_no_volume_key(other: str) -> None:
    # Hardware encrypts NVMe storage, and SageMaker may reject a key for it.
    variants = {"Nvme": {}, "Other": {"instance_type": other}}
    text_endpoint(variants=variants).has_resource_properties(CONFIG, {"KmsKeyId": Match.absent()})


# Settings


@pytest.mark.parametrize(("stage", "port"), [("plain", "9002"), ("existing", "23000")])
def test_triton_metrics_are_published_and_on_the_dashboard(stage: str, port: str) -> None:
    endpoint = Template.from_json(templates_of(stage)[f"{stage}-volumes"])
    log_group = f"/aws/sagemaker/Endpoints/{stage}-volumes/triton-metrics"
    environment = {
        "SAGEMAKER_TRITON_ALLOW_METRICS": "true",
        "SAGEMAKER_TRITON_METRICS_PORT": port,
        "SAGEMAKER_TRITON_PUBLISH_METRICS_TO_CLOUDWATCH": "true",
        "SAGEMAKER_TRITON_CLOUDWATCH_LOG_GROUP": log_group,
        "SAGEMAKER_TRITON_METRIC_NAMESPACE": f"Triton/{stage}-volumes",
        "SAGEMAKER_TRITON_CLOUDWATCH_METRIC_NAMESPACE": f"Triton/{stage}-volumes",
    }
    endpoint.has_resource_properties(MODEL, {"PrimaryContainer": {"Environment": environment}})
    (dashboard,) = endpoint.find_resources("AWS::CloudWatch::Dashboard").values()
    body = json.dumps(dashboard)
    for name in ("nv_inference_request_failure", "nv_inference_queue_duration_us"):
        assert re.search(
            rf"SEARCH\('Namespace=\W+Triton/{stage}-volumes\W+MetricName=\W+{name}", body
        )
    groups = Template.from_json(templates_of(stage)[f"{stage}-models"])
    groups.has_resource_properties("AWS::Logs::LogGroup", {"LogGroupName": log_group})


def test_alarms_notify_stage_topic_and_configured_topics() -> None:
    alarms = properties_of(text_endpoint(production=True), "AWS::CloudWatch::Alarm")
    assert [TOPIC] in [alarm.get("AlarmActions") for alarm in alarms]
    (topic,) = properties_of(templates_of("prod")["prod-models"], "AWS::SNS::Topic")
    assert f':{topic["TopicName"]}"' in json.dumps(templates_of("prod")["prod-text"])


# Stages


def test_trial_stage_has_no_production_resources() -> None:
    resources = templates_of("dev")["dev-text"]["Resources"].values()
    kinds = [resource["Type"] for resource in resources]
    assert kinds.count("AWS::CloudWatch::Alarm") == 2  # the rollback alarms
    assert not {"AWS::CloudWatch::Dashboard", "AWS::ApplicationAutoScaling::ScalableTarget"} & {
        *kinds
    }


def test_guard_changes_with_the_update_policy() -> None:
    def guard(wait: int) -> dict[str, Any]:
        update = {"strategy": "canary", "wait_seconds": wait}
        return dict(text_endpoint(update=update).find_resources("Custom::TritonUpdateGuard"))

    assert guard(60) != guard(90)


# Server, scaling and hosting settings


def variables(template: Template) -> dict[str, str]:
    (model,) = properties_of(template, MODEL)
    return dict(model["PrimaryContainer"]["Environment"])


def test_server_options_are_those_of_the_stage() -> None:
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
        "allow_grpc": True,
        "grpc_port": 9001,
        "metrics_port": 9002,
        "additional_args": "--exit-timeout-secs=60",
    }
    environment = variables(text_endpoint(hosting="single-model", server=server))
    assert {
        name.removeprefix("SAGEMAKER_TRITON_"): value for name, value in environment.items()
    } == {
        "ALLOW_GRPC": "true",
        "GRPC_PORT": "9001",
        "METRICS_PORT": "9002",
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
    older = text_endpoint(release="24.09", server={"tensorflow_version": 2})
    assert variables(older)["SAGEMAKER_TRITON_TENSORFLOW_VERSION"] == "2"


def test_stage_can_set_every_server_option() -> None:
    in_mib = {"python_shm_default", "python_shm_growth"}
    options = {field.name for field in fields(ServerOptions)} - in_mib - {"publish_metrics"}
    assert set(ServerConfig.model_fields) == options | {f"{option}_mib" for option in in_mib}
