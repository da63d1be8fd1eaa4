"""Templates of the stages that together use every setting, judged by cfn-lint."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.processes import run_program
from tests.synth.conftest import ROOT, assembly_of, templates_of
from tests.synth.deployed import Deployed
from tests.synth.every_stage import ACCOUNT, EVERY_STAGE

MAX_INLINE_CHARACTERS = 10_240
"""Characters of all inline policies of a role (IAM user guide, IAM quotas; from memory)."""


def test_templates_pass_cfn_lint() -> None:
    """The schemas of CloudFormation's handlers: `make lint` judges the shipped stages."""
    folders = [Path(assembly_of(name).directory) for name in EVERY_STAGE]
    templates = [str(path) for folder in folders for path in sorted(folder.glob("*.template.json"))]
    assert len(templates) > 3 * len(EVERY_STAGE)
    run_program(
        Path(sys.executable).with_name("cfn-lint"),
        "--non-zero-exit-code=error",
        *templates,
        cwd=ROOT,
    )


@pytest.mark.parametrize("name", EVERY_STAGE)
def test_inline_policies_of_a_role_are_within_the_limit(name: str) -> None:
    deployed = Deployed(templates_of(name), region="eu-west-1", account=ACCOUNT)
    sizes = Counter[str]()
    for policy in deployed.of_type("AWS::IAM::Policy"):
        statements = deployed.statements(policy.properties["PolicyDocument"], policy.stack)
        for role in policy.properties["Roles"]:
            sizes[f"{policy.stack}: {role}"] += len(json.dumps(statements, separators=(",", ":")))
    assert [role for role, size in sizes.items() if size > MAX_INLINE_CHARACTERS] == []


def test_stage_in_china_names_no_other_partition() -> None:
    text = json.dumps(templates_of("china"))
    assert "arn:aws-cn:" in text
    assert "arn:aws:" not in text
    assert ".amazonaws.com.cn" in text


@pytest.mark.parametrize("name", EVERY_STAGE)
def test_logs_are_kept_if_the_first_deploy_of_an_endpoint_fails(name: str) -> None:
    """The stack of the endpoint is deleted then, with a log group in it."""
    deployed = Deployed(templates_of(name), region="eu-west-1", account=ACCOUNT)
    groups = {
        group.properties.get("LogGroupName"): group.stack
        for group in deployed.of_type("AWS::Logs::LogGroup")
    }
    for kind in ("Endpoint", "InferenceComponent"):
        for hosted in deployed.of_type(f"AWS::SageMaker::{kind}"):
            hosted_name = hosted.properties[f"{kind}Name"]
            assert groups[f"/aws/sagemaker/{kind}s/{hosted_name}"] != hosted.stack
