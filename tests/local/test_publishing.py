"""Models on a running multi-model endpoint without a deploy, by the command line."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import numpy as np
import pytest

from endpoint_client import EndpointClient
from tests.local.conftest import ROOT, LocalAws
from tests.local.hosting import host, multi_model
from tests.local.tiny_models import LINE_EXPORT, TIMES, write_line, write_python

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

BUCKET, PREFIX = "shop-models-modelsbucket", "math/cpu-24.09/"
PLACE = ["--stage", "shop", "--endpoint", "math"]

Write = Callable[[int], Path]


@pytest.fixture(scope="module")
def s3(local_aws: LocalAws) -> "S3Client":
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
    return subprocess.run(
        [sys.executable, "-m", "model_build", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "AWS_SESSION_TOKEN": "publisher"},
        capture_output=True,
        text=True,
        check=False,
    )


def _answer(client: EndpointClient, model: str = "times") -> float:
    return float(client.invoke(model, {"X": np.array([[7]], np.float32)})["Y"][0, 0])


def _keys(s3: "S3Client") -> list[str]:
    return [it["Key"] for it in s3.list_objects_v2(Bucket=BUCKET).get("Contents", ())]


def test_a_model_is_published_changed_rolled_back_and_retired(
    client: EndpointClient, s3: "S3Client", times: Write
) -> None:
    first = _run("publish", times(2), *PLACE)["version"]
    assert _answer(client) == 14
    assert "was current already" in _command("publish", times(2), *PLACE).stdout

    second = _run("publish", times(3), *PLACE)["version"]
    assert _answer(client) == 21

    refused = _command("retire", "times", second, *PLACE)
    assert (refused.returncode, "clients are sent there" in refused.stderr) == (1, True)
    assert _answer(client) == 21

    assert _run("rollback", "times", *PLACE)["version"] == first
    assert _answer(client) == 14

    deleted = _run("retire", "times", second, *PLACE)
    assert deleted[0].startswith(f"s3://{BUCKET}/sources/{second}")
    assert [place.rpartition("/")[2] for place in deleted[1:]] == [
        f"times-{second}.json",
        f"times-{second}.tar.gz",
    ]
    assert _run("retire", "times", second, *PLACE) == []
    assert not [key for key in _keys(s3) if second in key]

    gone = _command("rollback", "times", "--to", second, *PLACE)
    assert (gone.returncode, "it was retired, or never built" in gone.stderr) == (1, True)
    assert _answer(client) == 14


def test_copies_are_models_of_their_own(
    client: EndpointClient, s3: "S3Client", times: Write
) -> None:
    published = _run("publish", times(5), "--copies", "3", *PLACE)
    assert published["models"] == ["times-0", "times-1", "times-2"]
    assert [_answer(client, name) for name in published["models"]] == [35, 35, 35]


def _unfinished(s3: "S3Client") -> list[str]:
    return [it["Key"] for it in s3.list_multipart_uploads(Bucket=BUCKET).get("Uploads", ())]


def _kill_when(condition: Callable[[], object], *arguments: str | Path, scratch: Path) -> None:
    """Run a command and kill it, as a power cut would, once `condition` holds."""
    process = subprocess.Popen(
        [sys.executable, "-m", "model_build", *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(scratch)},  # what is killed leaves its scratch behind
        start_new_session=True,
    )
    while not condition():
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_an_upload_that_was_killed_leaves_nothing_once_it_was_repeated(
    client: EndpointClient, s3: "S3Client", times: Write, tmp_path: Path
) -> None:
    model = times(11)
    weights = np.random.default_rng(0).bytes(256 * 1024 * 1024)
    (model / "times" / "1" / "weights.bin").write_bytes(weights)
    _kill_when(lambda: _unfinished(s3), "publish", model, *PLACE, scratch=tmp_path)
    assert _unfinished(s3)  # or nothing was tested
    archives = [key for key in _keys(s3) if key.endswith(".tar.gz")]
    assert all(key.replace(".tar.gz", ".json") in _keys(s3) for key in archives)

    version = _run("publish", model, *PLACE)["version"]
    assert _unfinished(s3) == []
    key = f"{PREFIX}times-{version}"
    manifest = json.loads(s3.get_object(Bucket=BUCKET, Key=f"{key}.json")["Body"].read())
    archive = s3.get_object(Bucket=BUCKET, Key=f"{key}.tar.gz")["Body"].read()
    assert hashlib.sha256(archive).hexdigest() == manifest["archive"]["sha256"]
    assert _answer(client) == 77


WAITS_THE_FIRST_TIME = """\
    import pathlib, signal
    if not pathlib.Path("MARKER").exists():
        pathlib.Path("MARKER").touch()
        signal.pause()
"""


def test_a_build_that_was_killed_succeeds_when_it_is_repeated(
    client: EndpointClient, s3: "S3Client", tmp_path: Path
) -> None:
    marker, model = tmp_path / "marker", write_line(tmp_path / "line")
    (model / "export.py").write_text(
        LINE_EXPORT.replace("def line(_):\n", "def line(_):\n" + WAITS_THE_FIRST_TIME).replace(
            "MARKER", str(marker)
        )
    )
    _kill_when(marker.exists, "publish", model, *PLACE, scratch=tmp_path)
    assert not [key for key in _keys(s3) if "line" in key]
    assert _unfinished(s3) == []

    version = _run("publish", model, *PLACE)["version"]
    assert f"{PREFIX}line-{version}.json" in _keys(s3)
    given = {"INPUT__0": np.zeros((2, 1), np.float32)}
    assert client.invoke("line", given)["OUTPUT__0"].shape == (2, 1)
