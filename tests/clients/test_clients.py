"""AWS CLI, boto3 and SageMaker SDKs against the local SageMaker (`make clients-test`).

The tests run the scripts of docs/examples/clients/ in separate environments.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest

from local_sagemaker.tests.support.endpoints import create_endpoint, multi_model
from local_sagemaker.tests.support.running import local_sagemaker_in
from local_sagemaker.tests.support.tiny_models import pack_python, times
from tests.processes import run_program

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples" / "clients"
ENVIRONMENTS = ROOT / ".venv-clients"
"""Created by `make clients-test`: `v2` has the AWS CLI, boto3 and SDK v2; `v3` has SDK v3."""
BUCKET, ENDPOINT = "shop-models", "shop-math"
ROLE = "shop-models-reader"
TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Action": "sts:AssumeRole",
            "Principal": {"Service": "sagemaker.amazonaws.com"},
        }
    ],
}


@pytest.fixture(scope="module", autouse=True)
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Host a multi-model endpoint with one model, `times`, which multiplies by two."""
    with local_sagemaker_in(tmp_path_factory.mktemp("local_sagemaker")):
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        two = pack_python(tmp_path_factory.mktemp("two") / "times", times(2))
        s3.put_object(Bucket=BUCKET, Key="math/times.tar.gz", Body=two)
        create_endpoint(ENDPOINT, multi_model(f"s3://{BUCKET}/math/"))
        yield


def _run(environment: str, script: str, *arguments: str | Path) -> list[str]:
    """Run an example with the programs of an environment; return its output lines."""
    programs = ENVIRONMENTS / environment / "bin"
    program = "bash" if script.endswith(".sh") else str(programs / "python")
    finished = run_program(
        program,
        str(EXAMPLES / script),
        *map(str, arguments),
        env={**os.environ, "PATH": os.pathsep.join([str(programs), os.environ["PATH"]])},
    )
    return finished.stdout.splitlines()


@pytest.mark.parametrize(
    ("environment", "script"),
    [("v2", "aws_cli.sh"), ("v2", "boto3_json.py"), ("v3", "sagemaker_sdk_v3.py")],
)
def test_client_lists_and_invokes_the_endpoint(environment: str, script: str) -> None:
    endpoint_line, content_type, response = _run(environment, script, ENDPOINT, "times.tar.gz", "7")
    assert endpoint_line.split() == [ENDPOINT, "InService"]
    assert content_type == "application/json"
    assert json.loads(response)["outputs"] == [
        {"name": "Y", "datatype": "FP32", "shape": [1, 1], "data": [14.0]}
    ]


def test_sdk_v3_deploys() -> None:
    """ModelBuilder.deploy does the same; it needs packages of 3 GB, with torch and MLflow."""
    assert _run("v3", "sagemaker_sdk_v3_deploy.py", "sdk-v3", ENDPOINT)[-1] == "InService"
    boto3.client("sagemaker").delete_endpoint(EndpointName="sdk-v3")


def test_sdk_v2_lifecycle(tmp_path: Path) -> None:
    prefix = f"s3://{BUCKET}/math/"
    archive = tmp_path / "three.tar.gz"
    archive.write_bytes(pack_python(tmp_path / "times", times(3)))
    # While it waits for the endpoint, the SDK prints dashes, then an exclamation mark.
    role = boto3.client("iam").create_role(
        RoleName=ROLE, AssumeRolePolicyDocument=json.dumps(TRUST)
    )["Role"]["Arn"]
    captured = f"s3://{BUCKET}/captured"
    output = _run("v2", "sagemaker_sdk_v2.py", prefix, role, archive, "7", captured)
    *_, archives, added_model, first_model, repeated = output
    assert archives.lstrip("-!") == "added/while-it-serves.tar.gz times.tar.gz"
    assert (added_model, first_model, repeated) == ("[21.0]", "[14.0]", "[14.0]")
    objects = boto3.client("s3").list_objects_v2(Bucket=BUCKET, Prefix="captured/sdk-v2")
    key = objects["Contents"][0]["Key"]
    line = json.load(boto3.client("s3").get_object(Bucket=BUCKET, Key=key)["Body"])
    assert line["captureData"]["endpointOutput"]["encoding"] == "JSON"
    sagemaker = boto3.client("sagemaker")
    for name in ("sdk-v2", "sdk-v3"):
        sagemaker.get_waiter("endpoint_deleted").wait(
            EndpointName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 600}
        )
    assert [endpoint["EndpointName"] for endpoint in sagemaker.list_endpoints()["Endpoints"]] == [
        ENDPOINT
    ]
