from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from model_build import ModelFolder, compute_digest
from model_build.__main__ import main
from tests.processes import run_main
from tests.unit.model_build.commands.conftest import (
    ENDPOINT,
    NO_LOAD,
    PREFIX,
    FakeAws,
    fail,
    make_item,
    run_json,
    store_list,
    succeed,
)
from tests.unit.model_build.conftest import write_files
from tests.unit.model_build.fakes import client_error

GPU_PREFIX = "text/cuda-25.09-sm86/"


def test_decoupled_model_is_refused(doubled: Path, aws: FakeAws) -> None:
    config = doubled / "double" / "config.pbtxt"
    config.write_text(config.read_text() + "model_transaction_policy { decoupled: true }\n")
    message = fail("publish", *NO_LOAD, *ENDPOINT, doubled)
    assert message.startswith("doubled is decoupled, and a multi-model endpoint")
    assert aws.archives == set()


def test_backend_that_the_image_lacks_is_refused(doubled: Path, aws: FakeAws) -> None:
    config = doubled / "double" / "config.pbtxt"
    config.write_text(config.read_text().replace('"python"', '"tokens"'))
    message = fail("publish", *NO_LOAD, *ENDPOINT, doubled)
    assert 'the endpoint\'s image has no backend "tokens"' in message
    assert aws.archives == set()
    aws.sagemaker.host("dev-text", f"s3://bucket/{PREFIX}", image=f"triton@sha256:{'0a' * 32}")
    succeed("publish", *NO_LOAD, *ENDPOINT, doubled)


def test_archive_that_every_prefix_has_is_reused(doubled: Path, aws: FakeAws) -> None:
    prefixes = [PREFIX, "text/cpu-25.09/"]
    name = f"doubled-{compute_digest(doubled)[:12]}.tar.gz"
    aws.sagemaker.host("dev-text", *(f"s3://bucket/{prefix}" for prefix in prefixes))
    first, second = (make_item(aws, doubled, prefix=prefix) for prefix in prefixes)
    succeed(*store_list(aws, [first]), *NO_LOAD)
    succeed("publish", *NO_LOAD, *ENDPOINT, doubled)
    assert aws.catalog("doubled")["target_model"] == f"published/{name}"
    succeed(*store_list(aws, [second]), *NO_LOAD)
    objects_before = {key: aws.s3.objects[key] for key in aws.archives}
    succeed("publish", *NO_LOAD, *ENDPOINT, doubled)
    assert aws.catalog("doubled")["target_model"] == name
    assert {key: aws.s3.objects[key] for key in aws.archives} == objects_before


def test_catalog_is_not_changed_before_every_upload(doubled: Path, aws: FakeAws) -> None:
    def refuse(request: dict[str, Any]) -> None:
        if "cuda" in request["Key"]:
            raise client_error("PutObject", "AccessDenied")

    aws.sagemaker.host("dev-text", f"s3://bucket/{PREFIX}", f"s3://bucket/{GPU_PREFIX}")
    aws.s3.hooks["PutObject"] = refuse
    error = fail("publish", *NO_LOAD, *ENDPOINT, doubled)
    assert error.startswith("AWS: An error occurred (AccessDenied)")
    assert aws.writes == []


@pytest.mark.parametrize(
    ("start_update", "message"),
    [
        (lambda aws: vars(aws.sagemaker).update(status="Updating",
          pending={"PendingDeploymentSummary": {}}), "dev-text is Updating"),
        (lambda aws: aws.sagemaker.host("dev-text", "s3://bucket/text/cpu-25.09/"),
         "dev-text was updated during the build and now loads archives from another prefix. The"),
    ],
)  # fmt: skip
def test_update_during_the_build_leaves_the_catalog(
    doubled: Path, aws: FakeAws, start_update: Callable[[FakeAws], None], message: str
) -> None:
    aws.s3.hooks["PutObject"] = lambda _: start_update(aws)
    assert message in fail("publish", *NO_LOAD, *ENDPOINT, doubled)
    assert aws.writes == []


@pytest.fixture
def fleet(doubled: Path) -> Path:
    """A table of three rows, which are models with the files of `doubled`."""
    names = ("acme", "globex", "initech")
    files = {f"weights/{name}.txt": name for name in names}
    files["customers.csv"] = "".join(f"{name}\n" for name in ("name", *names))
    files["recipe.yaml"] = (
        "description: x\nfor_each: customers.csv\nfiles:\n"
        '  double/1/weights.txt: { to: copy, weights: "weights/{name}.txt" }\n'
    )
    return write_files(doubled.rename(doubled.with_name("fleet")), files)


def test_interrupted_run_over_a_table_continues(fleet: Path, aws: FakeAws) -> None:
    def interrupt(request: dict[str, Any]) -> None:
        if "globex" in request["Key"]:
            raise KeyboardInterrupt

    aws.s3.hooks["CompleteMultipartUpload"] = interrupt
    finished = run_main(main, "publish", *NO_LOAD, *ENDPOINT, str(fleet), code=130)
    assert finished.stderr.endswith("completed work is not repeated\n")
    assert (len(aws.archives), aws.writes) == (2, [])
    aws.s3.hooks.clear()
    models = run_json("publish", *NO_LOAD, *ENDPOINT, fleet)
    assert [(model["model"], model["published"]) for model in models] == [
        ("fleet-acme", True),
        ("fleet-globex", True),
        ("fleet-initech", True),
    ]
    assert aws.s3.calls.count("CreateMultipartUpload") == 4
    (event,) = aws.events
    assert event.versions.keys() == {f"text/{model['model']}" for model in models}
    (fleet / "weights" / "globex.txt").write_text("changed")
    again = run_json("publish", *NO_LOAD, *ENDPOINT, fleet)
    assert [model["published"] for model in again] == [False, True, False]
    assert aws.s3.calls.count("CreateMultipartUpload") == 5


def test_model_that_fails_does_not_stop_the_others(fleet: Path, aws: FakeAws) -> None:
    aws.s3.objects[
        f"{PREFIX}published/fleet-acme-{ModelFolder(fleet).model('acme').digest[:12]}.json"
    ] = {"Body": b'{"archive": {"checksum": "another"}}'}
    captured = run_main(main, "publish", *NO_LOAD, *ENDPOINT, str(fleet), code=1)
    assert captured.stdout == "2 models are now current, 0 were current already\n"
    assert "error: fleet-acme: s3://bucket/text/cpu-24.09/published/fleet-acme-" in captured.stderr
    assert aws.text.current().keys() == {"fleet-globex", "fleet-initech"}
