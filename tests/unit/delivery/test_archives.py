"""Tests of the builds before a deploy."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from delivery import archives
from delivery.archives import build_missing_archives, promote_archives
from delivery.deploy import StageDeployment
from delivery.errors import NotDelivered
from tests.unit.delivery.fakes import (
    ARCHIVE,
    MODELS_STACK,
    NEW_PREFIX,
    OLD_ARCHIVE,
    OLD_PREFIX,
    FakeAws,
    FakeCdk,
    stack_with_prefix,
)


def test_no_build_or_deploy_if_all_archives_exist(
    aws: FakeAws,
    cli: FakeCdk,
    stage_deployment: StageDeployment,
    capsys: pytest.CaptureFixture[str],
) -> None:
    aws.objects = {"text/model.json", "vision/model.json"}
    build_missing_archives(stage_deployment)
    assert (cli.runs, aws.started_builds) == ([], [])
    assert "all archives exist: no build is needed" in capsys.readouterr().out


def test_missing_archive_is_built_from_its_source(
    aws: FakeAws, cli: FakeCdk, stage_deployment: StageDeployment
) -> None:
    aws.objects = {"text/model.json"}
    build_missing_archives(stage_deployment)
    assert cli.runs == [("deploy", "prod-models"), ("publish-assets", "prod-vision")]
    assert aws.started_builds == [
        {
            "Key": "vision/model.tar.gz",
            "Digest": "e" * 64,
            "Bucket": "bucket",
            "Source": "assets-123456789012-us-east-1/source.zip",
            "WaitMinutes": "143",
        }
    ]


def test_first_delivery_of_a_stage_builds_all_archives(
    aws: FakeAws, cli: FakeCdk, stage_deployment: StageDeployment
) -> None:
    aws.has_stack = False
    build_missing_archives(stage_deployment)
    assert cli.runs[1] == ("publish-assets", "prod-text", "prod-vision")
    assert [build["Key"] for build in aws.started_builds] == [
        "text/model.tar.gz",
        "vision/model.tar.gz",
    ]


def test_moving_endpoint_needs_all_archives_below_both_prefixes(
    aws: FakeAws,
    cli: FakeCdk,
    moving_deployment: StageDeployment,
    capsys: pytest.CaptureFixture[str],
) -> None:
    build_missing_archives(moving_deployment)
    assert {build["Key"]: build["Source"].rpartition("/")[2] for build in aws.started_builds} == {
        f"{NEW_PREFIX}{ARCHIVE}": "source.zip",
        f"{NEW_PREFIX}{OLD_ARCHIVE}": "d.zip",
        f"{OLD_PREFIX}{ARCHIVE}": "source.zip",
    }
    assert (
        f"{NEW_PREFIX}{OLD_ARCHIVE}: clients may request it while its end"
        in capsys.readouterr().out
    )


def test_rollback_deploys_no_persistent_stack(
    aws: FakeAws, cli: FakeCdk, moving_deployment: StageDeployment
) -> None:
    """Also if it builds an archive; a stack that stays and differs is named."""
    rollback = replace(moving_deployment, endpoints_only=True)
    build_missing_archives(rollback)
    rollback.deploy(*rollback.stacks)
    assert cli.runs == [("publish-assets", "prod-text"), ("deploy", "prod-text")]
    assert rollback.kept_stacks() == ["prod-models"]
    aws.template = MODELS_STACK
    assert rollback.kept_stacks() == []


@pytest.mark.parametrize(
    "step",
    [
        build_missing_archives,
        lambda deployment: promote_archives(deployment, "dev", session=deployment.session),
    ],
    ids=["build", "promote"],
)
def test_live_template_is_read_after_running_operations(
    step: Callable[[StageDeployment], None],
    aws: FakeAws,
    moving_deployment: StageDeployment,
    cli: FakeCdk,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def live_template(*_: Any) -> dict[str, Any]:
        assert (aws.statuses, aws.endpoint_statuses) == ([], [])
        return stack_with_prefix(OLD_PREFIX)

    monkeypatch.setattr(StageDeployment, "live_template", live_template)
    monkeypatch.setattr(archives, "promote_archive", lambda *_, **__: "")
    aws.statuses, aws.endpoint_statuses = ["UPDATE_IN_PROGRESS"] * 2, ["Updating"] * 2
    step(moving_deployment)
    assert (aws.statuses, aws.endpoint_statuses) == ([], [])


def test_failed_build_for_a_move_is_explained(
    aws: FakeAws, cli: FakeCdk, moving_deployment: StageDeployment
) -> None:
    aws.build_error = "no such backend"
    with pytest.raises(
        NotDelivered, match=r"no such backend\n  Clients may request .* models after it"
    ):
        build_missing_archives(moving_deployment)


@pytest.mark.parametrize("live", [None, stack_with_prefix(NEW_PREFIX), {"Resources": {}}])
def test_new_or_unchanged_or_single_model_endpoint_does_not_move(
    aws: FakeAws,
    cli: FakeCdk,
    moving_deployment: StageDeployment,
    monkeypatch: pytest.MonkeyPatch,
    live: dict[str, Any] | None,
) -> None:
    monkeypatch.setattr(StageDeployment, "live_template", lambda *_: live)
    build_missing_archives(moving_deployment)
    assert [build["Key"] for build in aws.started_builds] == [f"{NEW_PREFIX}{ARCHIVE}"]


@pytest.mark.parametrize("command", ["deploy", "publish-assets"])
def test_no_build_after_a_failed_deploy_or_upload(
    command: str, aws: FakeAws, cli: FakeCdk, stage_deployment: StageDeployment
) -> None:
    cli.failing_command = command
    with pytest.raises(NotDelivered, match="the CLI: no"):
        build_missing_archives(stage_deployment)
    assert aws.started_builds == []
