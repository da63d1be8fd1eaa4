"""EngineBuilder: the project with the GPU, and what it may reach."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from aws_cdk import App
from aws_cdk.assertions import Match, Template

from stacks.model_stack import ENGINE_BUILDSPEC
from tests.synth.conftest import Templates
from tests.synth.endpoints import model_stack, trial_stage
from tests.synth.every_stage import MIRROR


def project(template: Template) -> dict[str, Any]:
    """The project with the GPU."""
    (only,) = template.find_resources(
        "AWS::CodeBuild::Project",
        {"Properties": {"Environment": {"Type": "LINUX_GPU_CONTAINER"}}},
    ).values()
    properties: dict[str, Any] = only["Properties"]
    return properties


def test_engines_are_compiled_on_one_a10g_in_the_newest_image(models_template: Template) -> None:
    values = project(models_template)
    assert values["Environment"] == {
        "ComputeType": "BUILD_GENERAL1_SMALL",
        "Image": "nvcr.io/nvidia/tensorrt:26.05-py3",
        "ImagePullCredentialsType": "SERVICE_ROLE",
        "PrivilegedMode": False,
        "Type": "LINUX_GPU_CONTAINER",
    }


def test_an_engine_may_wait_long_for_a_gpu_and_is_compiled_once(models_template: Template) -> None:
    # Eight hours are the longest that CodeBuild queues a build (API reference, CreateProject).
    values = project(models_template)
    assert (values["QueuedTimeoutInMinutes"], values["TimeoutInMinutes"]) == (480, 90)
    assert values["AutoRetryLimit"] == 0


def test_the_key_of_the_models_encrypts_results(models_template: Template) -> None:
    key = {"Fn::GetAtt": [Match.string_like_regexp("^ModelsKey"), "Arn"]}
    models_template.all_resources_properties("AWS::CodeBuild::Project", {"EncryptionKey": key})


def test_where_codebuild_has_no_gpu_there_is_no_project_for_one() -> None:
    stack = model_stack(App(), trial_stage(region="eu-north-1"))
    template = Template.from_stack(stack)
    (project,) = template.find_resources("AWS::CodeBuild::Project").values()
    environment = project["Properties"]["Environment"]
    assert environment["Type"] == "LINUX_CONTAINER"
    assert [variable["Name"] for variable in environment["EnvironmentVariables"]] == [
        "PIP_FIND_LINKS"
    ]
    assert "GpuProject" not in template.to_json()["Outputs"]


def test_the_step_s_own_folder_is_all_that_comes_beside_the_gpu(tmp_path: Path) -> None:
    model_stack(App(outdir=str(tmp_path)), trial_stage())
    (step,) = tmp_path.glob("asset.*/gpu_step")
    assert [path.name for path in step.parent.iterdir()] == ["gpu_step"]
    assert (step / "__main__.py").is_file()
    assert not [*step.rglob("__pycache__")]


@pytest.mark.parametrize("has_entrypoint", [True, False])
def test_the_step_is_started_as_the_image_starts_commands(
    has_entrypoint: bool, models_template: Template, tmp_path: Path
) -> None:
    spec = yaml.safe_load(project(models_template)["Source"]["BuildSpec"])
    assert spec == ENGINE_BUILDSPEC
    (command,) = spec["phases"]["build"]["commands"]
    entrypoint = tmp_path / "nvidia_entrypoint.sh"
    if has_entrypoint:
        _write_program(entrypoint, 'COMPAT=on exec "$@"')
    _write_program(tmp_path / "python3", 'echo "$COMPAT $*"')
    finished = subprocess.run(
        ["sh", "-c", command.replace("/opt/nvidia/nvidia_entrypoint.sh", str(entrypoint))],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "CODEBUILD_SRC_DIR_job": "/a job"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert finished.stdout == f"{'on' if has_entrypoint else ''} -m gpu_step /a job result\n"


def _write_program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_a_build_may_pull_the_mirrored_image_and_another_build_may_ask_for_it(
    every_template: Templates,
) -> None:
    template = Template.from_json(every_template("all")["all-models"])
    conditions = {"StringLike": {"codebuild:environment.image": Match.array_with([MIRROR])}}
    template.has_resource_properties(
        "AWS::IAM::Policy",
        {
            "PolicyDocument": {
                "Statement": Match.array_with(
                    [Match.object_like({"Condition": Match.object_like(conditions)})]
                )
            }
        },
    )
    repository = "arn:aws:ecr:eu-west-1:444455556666:repository/nvidia/tensorrt"
    template.has_resource_properties(
        "AWS::IAM::Policy",
        {
            "PolicyDocument": {
                "Statement": Match.array_with([Match.object_like({"Resource": repository})])
            }
        },
    )


def test_builds_and_who_builds_by_hand_know_the_mirrored_image(every_template: Templates) -> None:
    template = every_template("all")["all-models"]
    assert template["Outputs"]["GpuImages"]["Value"] == json.dumps({"25.04": MIRROR})
    (builder,) = (
        each["Properties"]["Environment"]["EnvironmentVariables"]
        for name, each in template["Resources"].items()
        if name.startswith("BuilderProject") and each["Type"] == "AWS::CodeBuild::Project"
    )
    variables = {each["Name"]: each["Value"] for each in builder}
    assert json.loads(variables["GPU_IMAGES"]) == {"25.04": MIRROR}
