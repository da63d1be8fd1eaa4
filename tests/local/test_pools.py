"""A stage with several instance types on the local SageMaker: what falls back, scales and fails.

Which type an instance gets, when SageMaker gives up and its words are in documents and public
reports (local_sagemaker/hosting/pools.py); that AWS does so with these templates was never seen.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import boto3
import numpy as np
import pytest

from cli import deploy
from cli.dispatch import read
from endpoint_client import EndpointClient
from local_sagemaker.settings import CAPACITY, SPEED
from local_sagemaker.tests.support.tiny_models import TIMES, write_python
from local_sagemaker.tests.support.waiting import eventually
from stages import load_stage, plan
from tests.local.conftest import Checkout
from tests.local.test_scaling import calling

FIRST, SECOND, OTHER = "ml.g6.xlarge", "ml.g5.xlarge", "ml.g6.2xlarge"
STAGE = """
account: "000000000000"
region: us-east-1
release: "25.04"
endpoints:
  math:
    models: [times]
    hosting: single-model
    instance_types: [ml.g6.xlarge, ml.g5.xlarge]
    provision_timeout_minutes: 5
    scaling: { min_count: 1, max_count: 2, concurrency: { ml.g6.xlarge: 1, ml.g5.xlarge: 1 } }
"""
ENDPOINT = "pooled-math"


@pytest.fixture(scope="module")
def without_capacity() -> Iterator[None]:
    """No instances of two types; AWS's minutes have half a second."""
    with patch.dict(os.environ, {CAPACITY: json.dumps({FIRST: 0, OTHER: 0}), SPEED: "120"}):
        yield


@pytest.fixture(scope="module")
def pooled(without_capacity: None, checkout: Checkout) -> Checkout:
    write_python(checkout.path / "models" / "times", TIMES.replace("FACTOR", "2"))
    (checkout.path / "stages" / "pooled.yaml").write_text(STAGE)
    pooled = replace(checkout, stage="pooled")
    deployed = pooled.deploy()
    assert deployed.returncode == 0, deployed.stdout
    return pooled


Ask = Callable[[], None]


@pytest.fixture(scope="module")
def ask(pooled: Checkout) -> Iterator[Ask]:
    """Invoke the deployed model."""
    with EndpointClient(stage=pooled.stage, endpoint="math") as client:

        def invoke() -> None:
            assert client.invoke("times", {"X": np.array([[7]], np.float32)})["Y"][0, 0] == 14

        yield invoke


def instances() -> dict[str, int]:
    """Return the instances of each type of an endpoint in service, nothing while it changes."""
    described = boto3.client("sagemaker").describe_endpoint(EndpointName=ENDPOINT)
    (variant,) = described["ProductionVariants"]
    if described["EndpointStatus"] != "InService":
        return {}
    pools: list[Any] = variant["InstancePools"]
    return {pool["InstanceType"]: pool["CurrentInstanceCount"] for pool in pools}


def test_an_endpoint_falls_back_to_the_next_type_with_its_own_archive(ask: Ask) -> None:
    assert instances() == {FIRST: 0, SECOND: 1}
    ask()


def test_it_scales_by_the_concurrency_of_each_type(ask: Ask) -> None:
    with calling(ask, by=4):
        eventually(lambda: instances() == {FIRST: 0, SECOND: 2})
    eventually(lambda: instances() == {FIRST: 0, SECOND: 1})  # nobody calls
    cloudwatch: Any = boto3.client("cloudwatch")
    by_type = [{"Name": "InstanceType", "Value": SECOND}, {"Name": "EndpointName"}]
    metrics = cloudwatch.list_metrics(Dimensions=by_type)["Metrics"]
    assert {"Invocations", "ConcurrentRequestsPerModel", "CPUUtilization"} <= {
        metric["MetricName"] for metric in metrics
    }


def test_an_update_falls_back_too(pooled: Checkout, ask: Ask) -> None:
    before = boto3.client("sagemaker").describe_endpoint(EndpointName=ENDPOINT)
    pooled.edit("stages/pooled.yaml", "    models:", '    environment: { A: "1" }\n    models:')
    deployed = pooled.deploy()
    assert deployed.returncode == 0, deployed.stdout
    after = boto3.client("sagemaker").describe_endpoint(EndpointName=ENDPOINT)
    assert after["EndpointConfigName"] != before["EndpointConfigName"]
    assert instances() == {FIRST: 0, SECOND: 1}
    ask()


def test_a_deploy_without_capacity_keeps_what_serves_and_says_what_to_write(
    pooled: Checkout,
    ask: Ask,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    pooled.edit("stages/pooled.yaml", f"{FIRST}, {SECOND}]", f"{FIRST}, {OTHER}]")
    pooled.edit("stages/pooled.yaml", f"{SECOND}: 1", f"{OTHER}: 1")
    monkeypatch.chdir(pooled.path)
    monkeypatch.setattr(deploy, "load_stage", partial(load_stage, folder=pooled.path / "stages"))
    monkeypatch.setattr(plan, "MODELS", pooled.path / "models")
    (pooled.path / ".local_sagemaker").symlink_to(pooled.aws.folder.root)
    imports = os.pathsep.join([str(pooled.path), str(pooled.path / "constructs")])
    with patch.dict(os.environ, PYTHONPATH=imports):
        assert read(["deploy", "pooled", "--local"])() == 1
    error = capfd.readouterr().err
    assert "InsufficientInstanceCapacity" in error
    assert re.search(
        r"stages/pooled\.yaml:6: endpoints\.math: no capacity in us-east-1 for ml\.g6\.xlarge or "
        r"ml\.g6\.2xlarge: write instance_types: \[ml\.g6\.xlarge, ml\.g6\.2xlarge, ",
        error,
    )
    assert instances() == {FIRST: 0, SECOND: 1}
    ask()
