"""A stage with inference components on the local SageMaker, served by a real Triton."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import boto3
import numpy as np
import pytest
from botocore.exceptions import ClientError

from local_sagemaker.settings import SPEED
from local_sagemaker.tests.support.tiny_models import TIMES, write_python
from local_sagemaker.tests.support.waiting import eventually
from tests.local.conftest import Checkout

STAGE = """
account: "000000000000"
region: us-east-1
release: "24.09"
unconfirmed: [components]
endpoints:
  math:
    models: [times, idle]
    hosting: components
    instance_type: ml.m5.xlarge
    instances: { min: 0, max: 2 }
    components:
      times: { copies: { min: 1, max: 1 }, memory_mb: 1024 }
      idle:
        copies: { min: 0, max: 2, max_rps: 100, scale_in_cooldown_seconds: 60 }
        memory_mb: 1024
"""
ENDPOINT = "parts-math-m5-xlarge"
ENTRY = "/triton/parts/math/{}"


@pytest.fixture(scope="module")
def fast() -> Iterator[None]:
    """AWS's minutes have a quarter of a second."""
    with patch.dict(os.environ, {SPEED: "240"}):
        yield


@pytest.fixture(scope="module")
def parts(fast: None, checkout: Checkout) -> Checkout:
    for name, factor in (("times", "2"), ("idle", "3")):
        write_python(checkout.path / "models" / name, TIMES.replace("FACTOR", factor))
    (checkout.path / "stages" / "parts.yaml").write_text(STAGE)
    parts = replace(checkout, stage="parts")
    deployed = parts.deploy()
    assert deployed.returncode == 0, deployed.stdout
    return parts


def entry(model: str) -> dict[str, Any]:
    """Return a model's catalog entry."""
    value = boto3.client("ssm").get_parameter(Name=ENTRY.format(model))["Parameter"]["Value"]
    content: dict[str, Any] = json.loads(value)
    return content


def invoke(model: str) -> float:
    """Invoke a model by what its catalog entry says."""
    named = entry(model)
    assert named["target_model"] is None
    tensor = {"name": "X", "shape": [1, 1], "datatype": "FP32", "data": [7]}
    answer = boto3.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=named["endpoint"],
        InferenceComponentName=named["inference_component"],
        Body=json.dumps({"inputs": [tensor]}),
    )
    return float(np.float32(json.loads(answer["Body"].read())["outputs"][0]["data"][0]))


def copies(model: str) -> int:
    name = entry(model)["inference_component"]
    described = boto3.client("sagemaker").describe_inference_component(InferenceComponentName=name)
    return int(described["RuntimeConfig"]["CurrentCopyCount"])


def test_components_are_served_scaled_to_zero_woken_updated_and_deleted(parts: Checkout) -> None:
    assert entry("times")["endpoint"] == ENDPOINT
    assert invoke("times") == 14

    eventually(lambda: copies("idle") == 0)
    with pytest.raises(ClientError, match="Inference Component has no capacity"):
        invoke("idle")
    eventually(lambda: copies("idle") == 1)
    assert invoke("idle") == 21

    before = entry("times")
    write_python(parts.path / "models" / "times", TIMES.replace("FACTOR", "4"))
    deployed = parts.deploy()
    assert deployed.returncode == 0, deployed.stdout
    after = entry("times")
    assert after["inference_component"] == before["inference_component"]
    assert after["version"] != before["version"]
    assert invoke("times") == 28

    destroyed = parts.cdk("destroy", "parts-math", "--force")
    assert destroyed.returncode == 0, destroyed.stdout
    assert boto3.client("sagemaker").list_inference_components()["InferenceComponents"] == []
    assert boto3.client("sagemaker").list_endpoints()["Endpoints"] == []
