"""ModelBuilder and BuiltModel."""

import json
import re
from pathlib import Path

import yaml
from aws_cdk import App, Environment
from aws_cdk.assertions import Match, Template

from model_build import ModelSource, plan_model
from stacks import ModelStack
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


def test_project_may_write_nothing_but_model_archives_and_abort_what_it_writes(
    models_template: Template,
) -> None:
    policies = models_template.find_resources("AWS::IAM::Policy").values()
    (writing,) = (
        statement
        for policy in policies
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if "s3:PutObject" in statement["Action"]
    )
    assert "s3:AbortMultipartUpload" in writing["Action"]
    written = writing["Resource"]
    assert written["Fn::Join"][1][1] == "/*"
    assert written["Fn::Join"][1][0]["Fn::GetAtt"][0].startswith("ModelsBucket")


def test_build_handler_can_tell_whether_an_archive_is_there(models_template: Template) -> None:
    # Without the right to list, S3 answers 403 and not 404 where there is no manifest; and where
    # there is one, it is encrypted.
    policies = models_template.find_resources("AWS::IAM::Policy")
    (policy,) = (it for name, it in policies.items() if name.startswith("BuilderOnEvent"))
    allowed = {
        it["Action"]: it["Resource"] for it in policy["Properties"]["PolicyDocument"]["Statement"]
    }
    assert allowed["s3:GetObject"]["Fn::Join"][1][1] == "/*.json"
    bucket, key = (allowed[it]["Fn::GetAtt"][0] for it in ("s3:ListBucket", "kms:Decrypt"))
    assert bucket.startswith("ModelsBucket")
    assert key.startswith("ModelsKey")


def test_a_build_makes_the_alternative_and_the_digest_that_were_planned(
    models_template: Template,
) -> None:
    (project,) = models_template.find_resources("AWS::CodeBuild::Project").values()
    buildspec = yaml.safe_load(project["Properties"]["Source"]["BuildSpec"])
    (command,) = buildspec["phases"]["build"]["commands"]
    assert '--alternative "${MODEL_ALTERNATIVE:-}"' in command
    assert '--digest "$MODEL_DIGEST"' in command


def test_new_prices_do_not_change_the_builder(tmp_path: Path) -> None:
    # They are refreshed every month, and a builder that changes is a deploy of every stage.
    ModelStack(App(outdir=str(tmp_path)), "models", env=Environment(region="us-east-1"))
    (facts,) = tmp_path.glob("asset.*/platform_facts")
    assert (facts / "releases.toml").is_file()
    assert not (facts / "prices.toml").exists()


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
