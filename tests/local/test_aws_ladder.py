"""The ladder of tests/aws against the local SageMaker, whose answers prove nothing about AWS."""

import os
import re
import sys
from pathlib import Path

import boto3
import pytest

from local_sagemaker import ACCOUNT
from local_sagemaker.settings import SPEED
from local_sagemaker.tests.support.running import LocalSageMaker
from tests.local.cdk_bootstrap import bootstrap
from tests.local.conftest import ROOT
from tests.processes import output_of

pytestmark = pytest.mark.drill

NOT_ASKED = {
    "an engine is compiled and answers": "the emulator has neither a GPU nor TensorRT",
    "iam allows what the roles policies say": "the emulator evaluates no conditions of policies",
    "multi model containers have no pools": "the emulator refuses pools of multi-model containers "
    "by its own choice",
}
SETTINGS = {SPEED: "120"}  # the last step but one waits for a scale-in


def climb(*options: str, code: int = 0) -> str:
    """Run the tests of the ladder; return their output."""
    program = (sys.executable, "-m", "pytest", "tests/aws", "-p", "no:cacheprovider")
    environment = {**os.environ, "CDK_VALIDATION": "false"}
    return output_of(*program, *options, code=code, cwd=ROOT, env=environment)


def test_nothing_runs_without_an_account() -> None:
    output = climb("--up-to", "dollars")
    assert "name the account" in output
    assert not re.search(r"\d passed", output)


def test_another_account_is_refused(local_sagemaker: LocalSageMaker) -> None:
    output = climb("--account", "123456789012", code=1)
    assert f"these credentials are of account {ACCOUNT}, not 123456789012" in output


def test_every_step_is_confirmed_or_not_emulated(
    local_sagemaker: LocalSageMaker, tmp_path: Path
) -> None:
    bootstrap()
    report = tmp_path / "report.md"
    output = climb("--account", ACCOUNT, "--up-to", "dollars", "--report", str(report))
    rows = [line[2:-2].split(" | ") for line in report.read_text().splitlines()[4:]]
    assert {step: text for step, result, text in rows if result != "confirmed"} == NOT_ASKED
    assert len(rows) == 16
    assert ACCOUNT not in report.read_text()
    plan, steps = output.split("\ntests/aws/", 1)
    for text in (plan, steps):  # all costs before the first step, and each before its step
        assert "1 ml.c5.xlarge for 20 min, about 0.07 USD: deploys both stacks" in text
    buckets = [bucket["Name"] for bucket in boto3.client("s3").list_buckets()["Buckets"]]
    assert not [name for name in buckets if name.startswith("triton-ladder")]
    groups = boto3.client("logs").describe_log_groups()["logGroups"]
    assert not [group for group in groups if "triton-ladder" in group["logGroupName"]]
