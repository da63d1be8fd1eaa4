"""The ladder of tests/aws against the local SageMaker, whose answers prove nothing about AWS."""

import os
import re
import subprocess
import sys
from pathlib import Path

import boto3
import pytest

from local_sagemaker import ACCOUNT
from local_sagemaker.settings import SPEED
from local_sagemaker.tests.support.running import LocalSageMaker
from tests.local.cdk_bootstrap import bootstrap
from tests.local.conftest import ROOT

pytestmark = pytest.mark.drill

NOT_ASKED = {
    "an engine is compiled and answers": "the emulator has neither a GPU nor TensorRT",
    "iam allows what the roles policies say": "the emulator evaluates no conditions of policies",
    "multi model containers have no pools": "the emulator refuses pools of multi-model containers "
    "by its own choice",
}


@pytest.fixture(scope="module")
def settings() -> dict[str, str]:
    return {SPEED: "120"}  # the last step but one waits for a scale-in


def climb(*options: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "tests/aws", "-p", "no:cacheprovider"),
            *options,
        ],
        cwd=ROOT,
        env={**os.environ, "CDK_VALIDATION": "false"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def test_nothing_runs_without_an_account() -> None:
    finished = climb("--up-to", "dollars")
    assert "name the account" in finished.stdout
    assert not re.search(r"\d passed", finished.stdout)


def test_another_account_is_refused(local_sagemaker: LocalSageMaker) -> None:
    finished = climb("--account", "123456789012")
    assert finished.returncode == 1
    assert f"these credentials are of account {ACCOUNT}, not 123456789012" in finished.stdout


def test_every_step_is_confirmed_or_not_emulated(
    local_sagemaker: LocalSageMaker, tmp_path: Path
) -> None:
    bootstrap()
    report = tmp_path / "report.md"
    finished = climb("--account", ACCOUNT, "--up-to", "dollars", "--report", str(report))
    assert finished.returncode == 0, finished.stdout
    rows = [line[2:-2].split(" | ") for line in report.read_text().splitlines()[4:]]
    assert {step: text for step, result, text in rows if result != "confirmed"} == NOT_ASKED
    assert len(rows) == 16
    assert ACCOUNT not in report.read_text()
    plan, steps = finished.stdout.split("\ntests/aws/", 1)
    for text in (plan, steps):  # all costs before the first step, and each before its step
        assert "1 ml.c5.xlarge for 20 min, about 0.07 USD: deploys both stacks" in text
    buckets = [bucket["Name"] for bucket in boto3.client("s3").list_buckets()["Buckets"]]
    assert not [name for name in buckets if name.startswith("triton-ladder")]
    groups = boto3.client("logs").describe_log_groups()["logGroups"]
    assert not [group for group in groups if "triton-ladder" in group["logGroupName"]]
