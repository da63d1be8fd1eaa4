"""Tests of the builds before a deploy."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from delivery import archives
from delivery.archives import build_missing_archives, promote_archives
from delivery.deploy import StageDeployment
from delivery.errors import NotDelivered
from plan.archives import ArchiveReplaced
from platform_facts.rules.builds import BuildItem
from tests.unit.delivery.fakes import (
    MODELS_STACK,
    NEW_PREFIX,
    OLD_PREFIX,
    FakeAws,
    FakeCdk,
    stack_with_prefix,
)


def test_archive_that_is_newer_than_its_manifest_is_compared(
    aws: FakeAws, cli: FakeCdk, archives_deployment: StageDeployment
) -> None:
    archives = archives_deployment.assembly.archives
    aws.objects = {key.replace(".tar.gz", ".json") for key in archives}
    aws.replaced, aws.manifest = {*archives}, b'{"archive": {"checksum": "AAAA-1"}}'
    with pytest.raises(ArchiveReplaced, match="the archive was replaced"):
        build_missing_archives(archives_deployment)


@pytest.mark.parametrize(
    ("old", "engines", "new", "expected"),
    [
        ("cuda-25.09-sm86", True, "cpu-25.09", False),
        ("cuda-25.09-sm86", True, "cuda-25.09-sm89", True),
        ("cuda-25.09-sm86", False, "cuda-25.09-sm89", False),
        ("cpu-25.09", False, "cuda-25.09-sm86", True),  # perhaps: a CPU has none
    ],
)
def test_archive_with_engines_has_a_build_of_its_own(
    old: str, engines: bool, new: str, expected: bool
) -> None:
    names = {"source": "a.zip", "model": "m", "digest": "d"}
    item = BuildItem(**names, target=old, key=f"text/{old}/m.tar.gz", engines=engines)
    moved = archives._for_target(item, f"text/{new}/m.tar.gz", new)
    assert moved == replace(item, target=new, key=f"text/{new}/m.tar.gz", engines=expected)


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
    (build,) = aws.started_builds
    assert (build["List"], build["Digest"], build["Bucket"]) == (
        "assets-123456789012-us-east-1/text.jsonl",
        "e" * 64,
        "bucket",
    )
    assert not aws.written


def test_failed_build_ends_the_delivery(
    aws: FakeAws, cli: FakeCdk, archives_deployment: StageDeployment
) -> None:
    aws.build_error = "1 of 1 archives were not built"
    with pytest.raises(NotDelivered, match=f"prod-(text|vision): {aws.build_error}"):
        build_missing_archives(archives_deployment)


@pytest.mark.parametrize("command", ["deploy", "publish-assets"])
def test_no_build_after_a_failed_deploy_or_upload(
    command: str, aws: FakeAws, cli: FakeCdk, archives_deployment: StageDeployment
) -> None:
    cli.failing_command = command
    with pytest.raises(NotDelivered, match="the CLI: no"):
        build_missing_archives(archives_deployment)
    assert aws.started_builds == []
