"""What an instance does when its Triton dies, and when its memory is full."""

import io
import json
import os
import signal
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.local.conftest import LocalAws
from tests.local.hosting import host, multi_model
from tests.local.tiny_models import TIMES, write_python
from tests.unit.local_aws.conftest import eventually

BUCKET, ENDPOINT = "shop-models", "shop-math"
MODELS = ("a", "b", "c", "d")

pytestmark = pytest.mark.usefixtures("endpoint")


@pytest.fixture(scope="module", autouse=True)
def _memory() -> Iterator[None]:
    """Room for two or three of the models: Triton takes 30 to 50 MiB, each of them about 20."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCAL_AWS_INSTANCE_MEMORY_MIB", "100")
        yield


@pytest.fixture(scope="module")
def endpoint(_memory: None, local_aws: LocalAws, tmp_path_factory: pytest.TempPathFactory) -> None:
    s3: Any = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    for factor, name in enumerate(MODELS):
        folder = write_python(
            tmp_path_factory.mktemp("models") / name, TIMES.replace("FACTOR", str(factor))
        )
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            archive.add(folder, arcname=".")
        s3.put_object(Bucket=BUCKET, Key=f"{name}.tar.gz", Body=packed.getvalue())
    host(ENDPOINT, multi_model(f"s3://{BUCKET}/"))


def _ask(name: str) -> float:
    tensor = {"name": "X", "shape": [1, 1], "datatype": "FP32", "data": [7]}
    answer = boto3.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=ENDPOINT,
        TargetModel=f"{name}.tar.gz",
        ContentType="application/json",
        Body=json.dumps({"inputs": [tensor]}),
    )
    return float(json.load(answer["Body"])["outputs"][0]["data"][0])


def _answer_or_failure(name: str) -> tuple[float | None, int]:
    try:
        return _ask(name), 200
    except ClientError as error:
        return None, error.response["ResponseMetadata"]["HTTPStatusCode"]


def _processes(aws: LocalAws, program: str) -> list[int]:
    """Return the processes of a program below the local AWS's folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if Path(os.fsdecode(command[0])).name == program and any(
            os.fsencode(aws.folder.root) in argument for argument in command
        ):
            found.append(int(process.name))
    return found


def test_more_models_than_the_memory_holds_are_all_answered(local_aws: LocalAws) -> None:
    assert [_ask(name) for name in (*MODELS, "a")] == [0, 7, 14, 21, 0]
    log = next(local_aws.folder.instances.glob("*/triton.log")).read_text(errors="replace")
    assert "successfully unloaded" in log


def test_a_triton_that_is_killed_is_replaced(local_aws: LocalAws) -> None:
    (killed,) = _processes(local_aws, "tritonserver")
    os.kill(killed, signal.SIGKILL)
    statuses = []

    def answered() -> bool:
        answer, status = _answer_or_failure("b")
        statuses.append(status)
        return answer == 7

    eventually(answered)
    assert set(statuses) <= {200, 424}
    (replacement,) = _processes(local_aws, "tritonserver")
    assert replacement != killed
    description = boto3.client("sagemaker").describe_endpoint(EndpointName=ENDPOINT)
    assert description["EndpointStatus"] == "InService"
