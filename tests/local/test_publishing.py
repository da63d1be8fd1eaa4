"""Models on a running multi-model endpoint without a deploy, by the command line."""

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
from local_sagemaker.tests.support.endpoints import host, multi_model
from local_sagemaker.tests.support.running import LocalSageMaker
from local_sagemaker.tests.support.tiny_models import TIMES, write_python
from model_build.__main__ import main
from model_build.publishing.upload import PART_BYTES
from tests.local.commands import run_as
from tests.local.conftest import ROOT

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

BUCKET, PREFIX = "shop-models-modelsbucket", "math/cpu-24.09/"
PUBLISHED = f"{PREFIX}published/"
PLACE = ["shop", "math"]

Write = Callable[[int], Path]


@pytest.fixture(scope="module")
def s3(local_sagemaker: LocalSageMaker) -> "S3Client":
    client: S3Client = boto3.client("s3")
    client.create_bucket(Bucket=BUCKET)
    return client


@pytest.fixture(scope="module")
def client(s3: "S3Client") -> Iterator[EndpointClient]:
    """The client of an empty multi-model endpoint, made as CloudFormation would."""
    host("shop-math", multi_model(f"s3://{BUCKET}/{PREFIX}"))
    yield EndpointClient(stage="shop", endpoint="math", catalog_ttl=0)
    boto3.client("sagemaker").delete_endpoint(EndpointName="shop-math")


@pytest.fixture
def times(tmp_path: Path) -> Write:
    """Write the model `times`, a repository without a recipe, which multiplies by a factor."""

    def write(factor: int) -> Path:
        return write_python(tmp_path / "times", TIMES.replace("FACTOR", str(factor)))

    return write


def _run(*arguments: str | Path) -> Any:
    """Run a command; return what it says as JSON."""
    finished = _command(*arguments, "--json")
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def _command(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    return run_as("publisher", main, *map(str, arguments))


def _answer(client: EndpointClient, model: str = "times") -> float:
    return float(client.invoke(model, {"X": np.array([[7]], np.float32)})["Y"][0, 0])


def _keys(s3: "S3Client") -> list[str]:
    return [content["Key"] for content in s3.list_objects_v2(Bucket=BUCKET).get("Contents", ())]


def test_a_model_is_published_changed_rolled_back_and_retired(
    client: EndpointClient, s3: "S3Client", times: Write
) -> None:
    first = _run("publish", *PLACE, times(2))["version"]
    assert _answer(client) == 14
    assert "was current already" in _command("publish", *PLACE, times(2)).stdout

    second = _run("publish", *PLACE, times(3))["version"]
    assert _answer(client) == 21

    refused = _command("retire", *PLACE, "times", second)
    assert (refused.returncode, "clients are sent there" in refused.stderr) == (1, True)
    assert _answer(client) == 21

    assert _run("rollback", *PLACE, "times")["version"] == first
    assert _answer(client) == 14

    deleted = _run("retire", *PLACE, "times", second)
    place = f"s3://{BUCKET}/{PUBLISHED}times-{second}"
    assert deleted == [f"{place}.json", f"{place}.tar.gz"]
    assert _run("retire", *PLACE, "times", second) == []
    assert not [key for key in _keys(s3) if second in key]

    gone = _command("rollback", *PLACE, "times", "--to", second)
    assert (gone.returncode, "it was retired, or never built" in gone.stderr) == (1, True)
    assert _answer(client) == 14


def _unfinished(s3: "S3Client") -> list[str]:
    return [upload["Key"] for upload in s3.list_multipart_uploads(Bucket=BUCKET).get("Uploads", ())]


KILLED = """
import os, pkgutil, signal, sys

from model_build.__main__ import main

owner, _, name = sys.argv.pop(1).rpartition(".")
owner = pkgutil.resolve_name(owner)
call = getattr(owner, name)


def call_and_die(*arguments, **more):
    call(*arguments, **more)
    os.kill(os.getpid(), signal.SIGKILL)


setattr(owner, name, call_and_die)
main(sys.argv[1:])
"""


def _killed_after(function: str, *arguments: str | Path, scratch: Path) -> None:
    """Run a command that is killed, as by a power cut, once a function was called."""
    finished = subprocess.run(
        [sys.executable, "-c", KILLED, function, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(scratch)},  # what is killed leaves its scratch behind
        check=False,
    )
    assert finished.returncode == -signal.SIGKILL


def test_an_upload_that_was_killed_leaves_nothing_once_it_was_repeated(
    client: EndpointClient, s3: "S3Client", times: Write, tmp_path: Path
) -> None:
    model = times(11)
    weights = np.random.default_rng(0).bytes(PART_BYTES + PART_BYTES // 8)
    (model / "times" / "1" / "weights.bin").write_bytes(weights)
    first_part = "model_build.publishing.upload._send_part"
    _killed_after(first_part, "publish", *PLACE, model, scratch=tmp_path)
    assert _unfinished(s3)  # or nothing was tested
    archives = [key for key in _keys(s3) if key.endswith(".tar.gz")]
    assert all(key.replace(".tar.gz", ".json") in _keys(s3) for key in archives)

    version = _run("publish", *PLACE, model)["version"]
    assert _unfinished(s3) == []
    key = f"{PUBLISHED}times-{version}"
    manifest = json.loads(s3.get_object(Bucket=BUCKET, Key=f"{key}.json")["Body"].read())
    archive = s3.get_object(Bucket=BUCKET, Key=f"{key}.tar.gz")["Body"].read()
    assert hashlib.sha256(archive).hexdigest() == manifest["archive"]["sha256"]
    head = s3.head_object(Bucket=BUCKET, Key=f"{key}.tar.gz", ChecksumMode="ENABLED")
    assert head["ChecksumSHA256"] == manifest["archive"]["checksum"]
    assert head["ChecksumSHA256"].endswith("-2")
    assert _answer(client) == 77


COPIED = """
description: Thirteen times, with weights that a step of the recipe copies
weights: {{ from: folder, path: given, files: {{ w.bin: {sha256} }} }}
files:
  times/1/w.bin: {{ to: copy, weights: w.bin }}
"""


def test_a_build_that_was_killed_succeeds_when_it_is_repeated(
    client: EndpointClient, s3: "S3Client", times: Write, tmp_path: Path
) -> None:
    model, weights = times(13), b"weights"
    (model / "given").mkdir()
    (model / "given" / "w.bin").write_bytes(weights)
    (model / "recipe.yaml").write_text(COPIED.format(sha256=hashlib.sha256(weights).hexdigest()))
    before = _keys(s3)
    step = "model_build.build.make"
    _killed_after(step, "publish", *PLACE, model, scratch=tmp_path)
    assert _keys(s3) == before
    assert _unfinished(s3) == []

    version = _run("publish", *PLACE, model)["version"]
    assert f"{PUBLISHED}times-{version}.json" in _keys(s3)
    assert _answer(client) == 91
