"""Preflight checks of an account, before the deployment of a stage.

The tests depend on each other, in the order of this file.
"""

import json
from contextlib import chdir
from pathlib import Path

import boto3
import pytest

from local_sagemaker.settings import QUOTAS
from local_sagemaker.tests.support.tiny_models import times, write_python
from tests.local.commands import run_as
from tests.local.conftest import Checkout, stage_file
from tests.processes import run_program
from tests.tritonsm import tritonsm

SCALING_ROLE = "AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint"
M5_QUOTA = "ml.m5.xlarge for endpoint usage"
STAGE = stage_file("""
endpoints:
  math: { models: [times], instance_type: ml.m5.xlarge, instance_count: COUNT }
""")
SETTINGS = {QUOTAS: json.dumps({M5_QUOTA: 2})}
"""Settings of the local SageMaker: a quota of two instances."""


def stage_content(*, count: int = 2, release: str = "24.09") -> str:
    return STAGE.replace("COUNT", str(count)).replace("24.09", release)


Rows = dict[str, dict[str, str]]


def preflight(path: Path, name: str, *options: str) -> tuple[int, Rows]:
    """Return the exit code and the findings by subject."""
    with chdir(path):
        process = run_as("preflight", tritonsm, "preflight", name, "--json", *options)
    assert process.stdout, process.stderr
    findings = json.loads(process.stdout)["findings"]
    return process.returncode, {finding["subject"]: finding for finding in findings}


def refused_messages(rows: Rows) -> dict[str, str]:
    return {name: row["message"] for name, row in rows.items() if row["verdict"] == "refused"}


@pytest.fixture(scope="module")
def app(checkout: Checkout) -> Checkout:
    run_program("git", "init", "--quiet", cwd=checkout.path)
    write_python(checkout.path / "models" / "times", times(2))
    return checkout


def test_stage_within_the_quota_is_ok(app: Checkout) -> None:
    app.write_stage("fits", stage_content())
    code, rows = preflight(app.path, "fits")
    assert (code, refused_messages(rows)) == (0, {})
    assert (
        rows[M5_QUOTA]["message"]
        == "quota 2; 0 run, this deploy starts 2, updates and scaling up to 4 in all"
    )
    image = "763104351884.dkr.ecr.us-east-1.amazonaws.com/sagemaker-tritonserver:24.09-py3-cpu"
    assert rows[image]["message"] == "exists and can be pulled"
    assert {row["verdict"] for row in rows.values()} == {"ok"}
    assert SCALING_ROLE not in rows  # only stages that scale need it


def test_low_quota_and_missing_image_fail(app: Checkout) -> None:
    app.write_stage("large", stage_content(count=3, release="26.03"))
    code, rows = preflight(app.path, "large")
    assert code == 1
    image = "763104351884.dkr.ecr.us-east-1.amazonaws.com/sagemaker-tritonserver:26.03-py3-cpu"
    assert refused_messages(rows) == {
        M5_QUOTA: "quota 2; 0 run, this deploy starts 3, updates and scaling up to 6 in all",
        image: "repository sagemaker-tritonserver of registry 763104351884 has no tag "
        "26.03-py3-cpu",
    }
    assert "--quota-code L-2F737F8D --desired-value 6" in rows[M5_QUOTA]["fix"]


def test_fresh_account_lacks_bootstrap_and_role(app: Checkout) -> None:
    scaling = "scaling: { min_count: 1, max_count: 2, max_rps: 5 } }"
    stage = stage_content(count=1).replace("instance_count: 1 }", scaling)
    app.write_stage("scales", stage)
    _, rows = preflight(app.path, "scales")
    assert rows[SCALING_ROLE]["verdict"] == "ok"
    boto3.client("iam").delete_service_linked_role(RoleName="AWSServiceRoleForSagemaker")
    version = "/cdk-bootstrap/hnb659fds/version"
    ssm = boto3.client("ssm")
    for number, verdict in (("5", "refused"), ("6", "ok")):
        ssm.put_parameter(Name=version, Value=number, Type="String", Overwrite=True)
        assert preflight(app.path, "scales")[1][version]["verdict"] == verdict
    ssm.delete_parameter(Name=version)
    code, rows = preflight(app.path, "scales")
    assert code == 1
    assert rows[SCALING_ROLE]["verdict"] == "refused"
    assert rows[SCALING_ROLE]["fix"] == (
        "aws iam create-service-linked-role --aws-service-name "
        "sagemaker.application-autoscaling.amazonaws.com"
    )
    assert rows[version]["fix"].startswith("cdk bootstrap aws://000000000000/us-east-1")
