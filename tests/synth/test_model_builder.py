"""ModelBuilder and BuiltModel."""

import json
import re

import yaml
from aws_cdk.assertions import Match, Template

from model_build import ModelSource, plan_model
from tests.synth.conftest import ROOT, Templates


def test_a_failed_build_is_heard_of_before_cloudformation_s_hour_is_over(
    models_template: Template,
) -> None:
    # The provider must outlast queue and build, or it would say less than the build's own log; and
    # CloudFormation waits for a custom resource for one hour, then hangs in a rollback of its own.
    (project,) = models_template.find_resources("AWS::CodeBuild::Project").values()
    queued = project["Properties"]["QueuedTimeoutInMinutes"]
    (waiter,) = models_template.find_resources("AWS::StepFunctions::StateMachine").values()
    polls = re.search(
        r'"IntervalSeconds":(\d+),"MaxAttempts":(\d+),"BackoffRate":1[,}]',
        json.dumps(waiter["Properties"]["DefinitionString"]).replace("\\", ""),
    )
    assert polls is not None
    waited = int(polls[1]) * int(polls[2]) / 60
    assert project["Properties"]["TimeoutInMinutes"] + queued < waited <= 55


def test_project_encrypts_with_the_models_key(models_template: Template) -> None:
    models_template.has_resource_properties(
        "AWS::CodeBuild::Project", {"EncryptionKey": {"Fn::GetAtt": [Match.any_value(), "Arn"]}}
    )


def test_project_may_write_nothing_but_model_archives(models_template: Template) -> None:
    policies = models_template.find_resources("AWS::IAM::Policy").values()
    writes = [
        statement["Resource"]
        for policy in policies
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if "s3:PutObject" in statement["Action"]
    ]
    (written,) = writes
    assert written["Fn::Join"][1][1] == "/*"
    assert written["Fn::Join"][1][0]["Fn::GetAtt"][0].startswith("ModelsBucket")


def test_buildspec_builds_exactly_the_planned_digest(models_template: Template) -> None:
    (project,) = models_template.find_resources("AWS::CodeBuild::Project").values()
    buildspec = yaml.safe_load(project["Properties"]["Source"]["BuildSpec"])
    (command,) = buildspec["phases"]["build"]["commands"]
    assert '--digest "$MODEL_DIGEST"' in command


def test_archive_key_is_known_before_the_build(endpoint_template: Template) -> None:
    planned = plan_model(ModelSource(ROOT / "models" / "minilm"))
    endpoint_template.has_resource_properties(
        "Custom::TritonModel",
        {
            "Digest": planned.digest,
            "Key": f"text/cuda-25.09-sm86/minilm-{planned.version}.tar.gz",
            "Model": "minilm",
            "Target": "cuda-25.09-sm86",
        },
    )


def test_gpu_archives_are_built_on_one_a10g_in_the_release_s_own_ngc_image(
    endpoint_template: Template,
) -> None:
    endpoint_template.has_resource_properties(
        "Custom::TritonModel",
        {
            "ComputeType": "BUILD_GENERAL1_SMALL",
            "EnvironmentType": "LINUX_GPU_CONTAINER",
            "Image": "nvcr.io/nvidia/pytorch:25.09-py3",
            "Requirements": "requirements-gpu.txt",
        },
    )


def test_cpu_archives_are_built_without_a_gpu(templates: Templates) -> None:
    Template.from_json(templates("local")["local-text"]).has_resource_properties(
        "Custom::TritonModel",
        {"EnvironmentType": "LINUX_CONTAINER", "Target": "cpu-24.09"},
    )
