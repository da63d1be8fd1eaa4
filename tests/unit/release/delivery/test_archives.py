"""What is built before anything changes that serves."""

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
    moved_to,
)


def test_where_every_archive_is_there_nothing_is_deployed_or_built(
    aws: FakeAws, cli: FakeCdk, delivered: StageDeployment, capsys: pytest.CaptureFixture[str]
) -> None:
    aws.objects = {"text/model.json", "vision/model.json"}
    build(delivered)
    assert (cli.runs, aws.built) == ([], [])
    assert "every archive is there: nothing is built" in capsys.readouterr().out


def test_a_missing_archive_is_built_from_what_was_published_by_the_builder_of_this_commit(
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


def test_the_first_delivery_of_a_stage_builds_everything(
    aws: FakeAws, cli: FakeCdk, delivered: StageDeployment
) -> None:
    aws.has_stack = False
    build(delivered)
    assert cli.runs[1] == ("publish-assets", "prod-text", "prod-vision")
    assert [each["Key"] for each in aws.built] == ["text/model.tar.gz", "vision/model.tar.gz"]


def test_while_an_endpoint_moves_both_sides_have_what_clients_may_be_sent_to(
    aws: FakeAws, cli: FakeCdk, moving: StageDeployment, capsys: pytest.CaptureFixture[str]
) -> None:
    build(moving)
    assert {each["Key"]: each["Source"].rpartition("/")[2] for each in aws.built} == {
        f"{NEW}{ARCHIVE}": "source.zip",
        f"{NEW}{BEFORE}": "d.zip",
        f"{OLD}{ARCHIVE}": "source.zip",
    }
    assert f"{NEW}{BEFORE}: clients may be sent to it while its end" in capsys.readouterr().out


def test_where_only_the_move_misses_something_that_is_built(
    aws: FakeAws, cli: FakeCdk, moving: StageDeployment
) -> None:
    aws.objects |= {f"{each}model.json" for each in (OLD, NEW)}
    build(moving)
    assert [each["Key"] for each in aws.built] == [f"{NEW}{BEFORE}"]
    assert cli.runs == [("deploy", "prod-models"), ("publish-assets", "prod-text")]


@pytest.mark.parametrize(
    "head",
    [build, lambda each: promote_from(each, "dev", session=each.session)],
    ids=["build", "promote"],
)
def test_what_serves_is_read_once_an_earlier_delivery_has_ended(
    head: Callable[[StageDeployment], None],
    aws: FakeAws,
    moving: StageDeployment,
    cli: FakeCdk,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def live(*_: Any) -> dict[str, Any]:
        assert (aws.statuses, aws.endpoint) == ([], [])
        return moved_to(OLD)

    monkeypatch.setattr(StageDeployment, "live", live)
    monkeypatch.setattr(archives, "promote", lambda *_, **__: "")
    aws.statuses, aws.endpoint = ["UPDATE_IN_PROGRESS"] * 2, ["Updating"] * 2
    head(moving)
    assert (aws.statuses, aws.endpoint) == ([], [])


def test_what_cannot_be_built_for_a_move_is_told_before_anything_is_deployed(
    aws: FakeAws, cli: FakeCdk, moving: StageDeployment
) -> None:
    aws.objects.remove("sources/d.zip")
    with pytest.raises(NotDelivered, match=r"its source s3://bucket/sources/d.zip is gone"):
        build(moving)
    assert (cli.runs, aws.built) == ([], [])


def test_a_build_that_fails_is_told_with_what_it_was_wanted_for(
    aws: FakeAws, cli: FakeCdk, moving: StageDeployment
) -> None:
    aws.fails = "no such backend"
    with pytest.raises(NotDelivered, match=r"no such backend\n  Needed because .* one after the"):
        build(moving)


@pytest.mark.parametrize("live", [None, moved_to(NEW), {"Resources": {}}])
def test_an_endpoint_that_is_new_or_stays_or_is_hosted_otherwise_does_not_move(
    aws: FakeAws,
    cli: FakeCdk,
    moving: StageDeployment,
    monkeypatch: pytest.MonkeyPatch,
    live: dict[str, Any] | None,
) -> None:
    monkeypatch.setattr(StageDeployment, "live", lambda *_: live)
    build(moving)
    assert [each["Key"] for each in aws.built] == [f"{NEW}{ARCHIVE}"]


@pytest.mark.parametrize(
    ("fails", "message"), [("deploy", "the CLI: no"), ("publish-assets", "CLI: no")]
)
def test_what_cannot_be_deployed_or_published_is_not_built(
    fails: str, message: str, aws: FakeAws, cli: FakeCdk, delivered: StageDeployment
) -> None:
    cli.fails = fails
    with pytest.raises(NotDelivered, match=message):
        build(delivered)
    assert aws.built == []
