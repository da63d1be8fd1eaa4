"""Tests of the builds before a deploy."""

from collections.abc import Callable
from typing import Any

import pytest

from release.delivery import archives
from release.delivery.archives import build, promote_from
from release.delivery.deployment import StageDeployment
from release.delivery.errors import NotDelivered
from tests.unit.release.delivery.fakes import (
    ARCHIVE,
    BEFORE,
    NEW,
    OLD,
    FakeAws,
    FakeCdk,
    stack_with_prefix,
)


def test_no_build_or_deploy_if_all_archives_exist(
    aws: FakeAws, cli: FakeCdk, delivered: StageDeployment, capsys: pytest.CaptureFixture[str]
) -> None:
    aws.objects = {"text/model.json", "vision/model.json"}
    build(delivered)
    assert (cli.runs, aws.built) == ([], [])
    assert "all archives exist: no build is needed" in capsys.readouterr().out


def test_missing_archive_is_built_from_the_uploaded_source(
    aws: FakeAws, cli: FakeCdk, delivered: StageDeployment
) -> None:
    aws.objects = {"text/model.json"}
    build(delivered)
    assert cli.runs == [("deploy", "prod-models"), ("publish-assets", "prod-vision")]
    assert aws.built == [
        {
            "Key": "vision/model.tar.gz",
            "Digest": "e" * 64,
            "Bucket": "bucket",
            "Source": "assets-123456789012-us-east-1/source.zip",
            "WaitMinutes": "143",
        }
    ]


def test_first_delivery_of_a_stage_builds_all_archives(
    aws: FakeAws, cli: FakeCdk, delivered: StageDeployment
) -> None:
    aws.has_stack = False
    build(delivered)
    assert cli.runs[1] == ("publish-assets", "prod-text", "prod-vision")
    assert [built["Key"] for built in aws.built] == ["text/model.tar.gz", "vision/model.tar.gz"]


def test_moving_endpoint_needs_all_archives_below_both_prefixes(
    aws: FakeAws, cli: FakeCdk, moving: StageDeployment, capsys: pytest.CaptureFixture[str]
) -> None:
    build(moving)
    assert {built["Key"]: built["Source"].rpartition("/")[2] for built in aws.built} == {
        f"{NEW}{ARCHIVE}": "source.zip",
        f"{NEW}{BEFORE}": "d.zip",
        f"{OLD}{ARCHIVE}": "source.zip",
    }
    assert f"{NEW}{BEFORE}: clients may request it while its end" in capsys.readouterr().out


def test_archive_that_only_a_move_needs_is_built(
    aws: FakeAws, cli: FakeCdk, moving: StageDeployment
) -> None:
    aws.objects |= {f"{prefix}model.json" for prefix in (OLD, NEW)}
    build(moving)
    assert [built["Key"] for built in aws.built] == [f"{NEW}{BEFORE}"]
    assert cli.runs == [("deploy", "prod-models"), ("publish-assets", "prod-text")]


@pytest.mark.parametrize(
    "step",
    [build, lambda deployment: promote_from(deployment, "dev", session=deployment.session)],
    ids=["build", "promote"],
)
def test_live_template_is_read_after_operations_in_progress(
    step: Callable[[StageDeployment], None],
    aws: FakeAws,
    moving: StageDeployment,
    cli: FakeCdk,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def live(*_: Any) -> dict[str, Any]:
        assert (aws.statuses, aws.endpoint) == ([], [])
        return stack_with_prefix(OLD)

    monkeypatch.setattr(StageDeployment, "live_template", live)
    monkeypatch.setattr(archives, "promote", lambda *_, **__: "")
    aws.statuses, aws.endpoint = ["UPDATE_IN_PROGRESS"] * 2, ["Updating"] * 2
    step(moving)
    assert (aws.statuses, aws.endpoint) == ([], [])


def test_missing_source_for_a_move_is_an_error_before_deploys(
    aws: FakeAws, cli: FakeCdk, moving: StageDeployment
) -> None:
    aws.objects.remove("sources/d.zip")
    with pytest.raises(NotDelivered, match=r"its source s3://bucket/sources/d.zip was deleted"):
        build(moving)
    assert (cli.runs, aws.built) == ([], [])


def test_failed_build_for_a_move_is_explained(
    aws: FakeAws, cli: FakeCdk, moving: StageDeployment
) -> None:
    aws.build_error = "no such backend"
    with pytest.raises(
        NotDelivered, match=r"no such backend\n  Clients may request .* models after it"
    ):
        build(moving)


@pytest.mark.parametrize("live", [None, stack_with_prefix(NEW), {"Resources": {}}])
def test_new_or_unchanged_or_single_model_endpoint_does_not_move(
    aws: FakeAws,
    cli: FakeCdk,
    moving: StageDeployment,
    monkeypatch: pytest.MonkeyPatch,
    live: dict[str, Any] | None,
) -> None:
    monkeypatch.setattr(StageDeployment, "live_template", lambda *_: live)
    build(moving)
    assert [built["Key"] for built in aws.built] == [f"{NEW}{ARCHIVE}"]


@pytest.mark.parametrize("command", ["deploy", "publish-assets"])
def test_no_build_after_a_failed_deploy_or_upload(
    command: str, aws: FakeAws, cli: FakeCdk, delivered: StageDeployment
) -> None:
    cli.fails = command
    with pytest.raises(NotDelivered, match="the CLI: no"):
        build(delivered)
    assert aws.built == []
