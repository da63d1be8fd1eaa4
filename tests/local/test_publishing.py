"""Commands that publish, roll back and retire models of a running multi-model endpoint."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import numpy as np
import pytest

from endpoint_client import EndpointClient
from local_sagemaker.tests.support.endpoints import create_endpoint, multi_model
from local_sagemaker.tests.support.running import LocalSageMaker
from local_sagemaker.tests.support.tiny_models import TIMES, write_python
from model_build.__main__ import main
from model_build.publishing.upload import PART_BYTES
from tests.catalog_items import create_table
from tests.local.commands import run_as
from tests.local.conftest import ROOT
from tests.local.invoking import predict
from tests.local.stage_resources import bucket_keys, read_object

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

BUCKET, PREFIX = "shop-models-modelsbucket", "math/cpu-24.09/"
PUBLISHED = f"{PREFIX}published/"
STAGE_AND_ENDPOINT = ["shop", "math"]

WriteModel = Callable[[int], Path]


@pytest.fixture(scope="module")
def s3(local_sagemaker: LocalSageMaker) -> "S3Client":
    client: S3Client = boto3.client("s3")
    client.create_bucket(Bucket=BUCKET)
    return client


@pytest.fixture(scope="module")
def client(s3: "S3Client") -> Iterator[EndpointClient]:
    """Client of an empty multi-model endpoint."""
    create_table(boto3.client("dynamodb"), "shop")
    create_endpoint("shop-math", multi_model(f"s3://{BUCKET}/{PREFIX}"))
    yield EndpointClient(stage="shop", endpoint="math", catalog_ttl=0)
    boto3.client("sagemaker").delete_endpoint(EndpointName="shop-math")


@pytest.fixture
def times(tmp_path: Path) -> WriteModel:
    """Function that writes the model `times`, which multiplies by a factor."""

    def write(factor: int) -> Path:
        return write_python(tmp_path / "times", TIMES.replace("FACTOR", str(factor)))

    return write


def _run(*arguments: str | Path) -> Any:
    """Run a command; return its JSON output."""
    process = _command(*arguments, "--json")
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def _publish(model: Path) -> str:
    """Publish a model; return its version."""
    (published,) = _run("publish", *STAGE_AND_ENDPOINT, model)
    version: str = published["version"]
    return version


def _command(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    caller = "retirement" if arguments[0] == "retire" else "publisher"
    return run_as(caller, main, *map(str, arguments))


def test_model_is_published_rolled_back_and_retired(
    client: EndpointClient, s3: "S3Client", times: WriteModel
) -> None:
    first = _publish(times(2))
    assert predict(client) == 14
    assert "was current already" in _command("publish", *STAGE_AND_ENDPOINT, times(2)).stdout

    second = _publish(times(3))
    assert predict(client) == 21

    process = _command("retire", *STAGE_AND_ENDPOINT, "times", second)
    assert (process.returncode, "clients are sent there" in process.stderr) == (1, True)
    assert predict(client) == 21

    assert _run("rollback", *STAGE_AND_ENDPOINT, "times")["version"] == first
    assert predict(client) == 14

    deleted = _run("retire", *STAGE_AND_ENDPOINT, "times", second)
    url = f"s3://{BUCKET}/{PUBLISHED}times-{second}"
    assert deleted == [f"{url}.json", f"{url}.tar.gz"]
    assert _run("retire", *STAGE_AND_ENDPOINT, "times", second) == []
    assert not [key for key in bucket_keys(BUCKET) if second in key]

    process = _command("rollback", *STAGE_AND_ENDPOINT, "times", "--to", second)
    assert (process.returncode, "it was retired, or never built" in process.stderr) == (1, True)
    assert predict(client) == 14


def _unfinished(s3: "S3Client") -> list[str]:
    return [upload["Key"] for upload in s3.list_multipart_uploads(Bucket=BUCKET).get("Uploads", ())]


KILL_AFTER_CALL = """
import os, pkgutil, signal, sys

from model_build.__main__ import main

owner, _, name = sys.argv.pop(1).rpartition(".")
owner = pkgutil.resolve_name(owner)
call = getattr(owner, name)


def call_and_exit(*arguments, **options):
    call(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)


setattr(owner, name, call_and_exit)
main(sys.argv[1:])
"""


def _run_until_killed_after(function: str, *arguments: str | Path, scratch: Path) -> None:
    """Run a command in a process that is killed after the first call of a function."""
    process = subprocess.run(
        [sys.executable, "-c", KILL_AFTER_CALL, function, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(scratch)},  # a killed process leaves temporary files
        check=False,
    )
    assert process.returncode == -signal.SIGKILL


def test_repeated_publication_aborts_a_killed_upload(
    client: EndpointClient, s3: "S3Client", times: WriteModel, tmp_path: Path
) -> None:
    model = times(11)
    weights = np.random.default_rng(0).bytes(PART_BYTES + PART_BYTES // 8)
    (model / "times" / "1" / "weights.bin").write_bytes(weights)
    first_part = "model_build.publishing.upload._send_part"
    _run_until_killed_after(first_part, "publish", *STAGE_AND_ENDPOINT, model, scratch=tmp_path)
    assert _unfinished(s3)
    archives = [key for key in bucket_keys(BUCKET) if key.endswith(".tar.gz")]
    assert all(key.replace(".tar.gz", ".json") in bucket_keys(BUCKET) for key in archives)

    version = _publish(model)
    assert _unfinished(s3) == []
    key = f"{PUBLISHED}times-{version}"
    manifest = json.loads(read_object(BUCKET, f"{key}.json"))
    archive = read_object(BUCKET, f"{key}.tar.gz")
    assert hashlib.sha256(archive).hexdigest() == manifest["archive"]["sha256"]
    head = s3.head_object(Bucket=BUCKET, Key=f"{key}.tar.gz", ChecksumMode="ENABLED")
    assert head["ChecksumSHA256"] == manifest["archive"]["checksum"]
    assert head["ChecksumSHA256"].endswith("-2")
    assert predict(client) == 77
