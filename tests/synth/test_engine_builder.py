"""EngineBuilder: the GPU build project, its source, timeouts and images."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from aws_cdk import App
from aws_cdk.assertions import Template

from stacks.model_stack import ENGINE_BUILDSPEC
from tests.processes import run_program
from tests.synth.conftest import templates_of
from tests.synth.endpoints import model_stack, properties_of, trial_stage
from tests.synth.every_stage import MIRROR


def project(template: Template) -> dict[str, Any]:
    """Return the properties of the GPU build project."""
    (only,) = template.find_resources(
        "AWS::CodeBuild::Project", {"Properties": {"Environment": {"Type": "LINUX_GPU_CONTAINER"}}}
    ).values()
    properties: dict[str, Any] = only["Properties"]
    return properties


def test_region_without_gpus_has_no_gpu_project() -> None:
    template = templates_of("plain")["plain-models"]  # in us-west-1
    (project,) = properties_of(template, "AWS::CodeBuild::Project")
    environment = project["Environment"]
    assert environment["Type"] == "LINUX_CONTAINER"
    names = [variable["Name"] for variable in environment["EnvironmentVariables"]]
    assert not [name for name in names if name.startswith("GPU_")]
    assert "GpuProject" not in template["Outputs"]


def test_gpu_project_source_is_only_gpu_step(tmp_path: Path) -> None:
    model_stack(App(outdir=str(tmp_path)), trial_stage())
    (step,) = tmp_path.glob("asset.*/gpu_step")
    assert [path.name for path in step.parent.iterdir()] == ["gpu_step"]
    assert (step / "__main__.py").is_file()
    assert not [*step.rglob("__pycache__")]


@pytest.mark.parametrize("has_entrypoint", [True, False])
def test_gpu_step_uses_nvidia_entrypoint_if_present(
    has_entrypoint: bool, models_template: Template, tmp_path: Path
) -> None:
    spec = yaml.safe_load(project(models_template)["Source"]["BuildSpec"])
    assert spec == ENGINE_BUILDSPEC
    (command,) = spec["phases"]["build"]["commands"]
    entrypoint = tmp_path / "nvidia_entrypoint.sh"
    if has_entrypoint:
        _write_program(entrypoint, 'COMPAT=on exec "$@"')
    _write_program(tmp_path / "python3", 'echo "$COMPAT $*"')
    finished = run_program(
        "sh",
        "-c",
        command.replace("/opt/nvidia/nvidia_entrypoint.sh", str(entrypoint)),
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "CODEBUILD_SRC_DIR_job": "/a job"},
    )
    assert finished.stdout == f"{'on' if has_entrypoint else ''} -m gpu_step /a job result\n"


def _write_program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_mirrored_image_is_in_outputs_and_builder_environment() -> None:
    template = templates_of("all")["all-models"]
    assert template["Outputs"]["GpuImages"]["Value"] == json.dumps({"25.04": MIRROR})
    (builder,) = properties_of(template, "AWS::CodeBuild::Project", "BuilderProject")
    variables = {
        variable["Name"]: variable["Value"]
        for variable in builder["Environment"]["EnvironmentVariables"]
    }
    assert json.loads(variables["GPU_IMAGES"]) == {"25.04": MIRROR}
