"""Commands that change a model: not during a delivery, recorded, and what deliveries keep."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import stage_record
from stage_record import Event

if TYPE_CHECKING:
    from tests.unit.model_build.commands.conftest import Data, Fail, FakeAws

ENDPOINT = ("dev", "text")
OLD, NEW = "1" * 12, "2" * 12
COMMANDS = [("rollback", "minilm"), ("retire", "minilm", OLD)]


@pytest.fixture
def deployed(aws: "FakeAws") -> "FakeAws":
    for version in (OLD, NEW):
        aws.deploy("minilm", version)
    return aws


def delivery(aws: "FakeAws", outcome: str, *, age: timedelta = timedelta()) -> None:
    """Write the parameter as a delivery of commit `a` does."""
    time = (datetime.now(UTC) - age).isoformat(timespec="seconds")
    result = [{"commit": "a" * 40, "time": time, "outcome": outcome}]
    record = json.dumps({"stack": "id", "deliveries": result})
    aws.ssm.history["/triton/dev/delivered"] = [record]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda value: value[0])
def test_a_delivery_of_the_stage_that_is_in_progress_refuses_it(
    command: tuple[str, ...], deployed: "FakeAws", fail: "Fail"
) -> None:
    delivery(deployed, "started")
    message = fail(command[0], *ENDPOINT, *command[1:])
    assert message.startswith("a delivery of commit aaaaaaaaaaaa to dev is in progress since 20")
    assert "make deliver STAGE=dev resumes it; --during-delivery ignores it" in message
    assert (deployed.ssm.writes, deployed.events) == ([], [])


@pytest.mark.parametrize("command", [*COMMANDS, ("publish",)], ids=lambda command: command[0])
def test_an_endpoint_of_components_is_refused_with_what_to_do_instead(
    command: tuple[str, ...], doubled: Path, aws: "FakeAws", fail: "Fail"
) -> None:
    """Such an endpoint has another name than its stack, and no prefix to publish below."""
    name = "dev-text-g5-xlarge"
    for version in (OLD, NEW):
        entry = {"endpoint": name, "model": "minilm", "target_model": None, "version": version}
        aws.ssm.put("/triton/dev/text/minilm", entry)
    aws.sagemaker.endpoints[name] = [None]
    message = fail(command[0], *ENDPOINT, *(command[1:] or [doubled]))
    assert message.startswith(f"{name} is not a multi-model endpoint: another version")
    assert message.endswith("tritonsm deliver, tritonsm rollback-stage")
    assert (aws.ssm.writes, aws.archives) == ([], set())


def test_a_version_of_another_hosting_mode_is_not_rolled_back_to(
    aws: "FakeAws", fail: "Fail"
) -> None:
    entry = {"endpoint": "dev-text-g5-xlarge", "model": "minilm", "target_model": None}
    aws.ssm.put("/triton/dev/text/minilm", {**entry, "version": OLD})
    aws.deploy("minilm", NEW)
    message = fail("rollback", *ENDPOINT, "minilm")
    assert message.startswith(f"minilm {OLD} was deployed with another hosting mode")
    assert aws.ssm.writes == []


def test_one_that_was_killed_is_overridden_by_an_option_and_ends_by_itself(
    deployed: "FakeAws", data_of: "Data"
) -> None:
    delivery(deployed, "started")
    assert data_of("rollback", *ENDPOINT, "minilm", "--during-delivery")["version"] == OLD
    delivery(deployed, "started", age=stage_record.MAX_DURATION)
    assert data_of("rollback", *ENDPOINT, "minilm", "--to", NEW)["version"] == NEW


def test_each_change_is_an_event_that_the_next_one_leaves(
    deployed: "FakeAws", data_of: "Data"
) -> None:
    data_of("rollback", *ENDPOINT, "minilm")
    data_of("retire", *ENDPOINT, "minilm", NEW)
    result = deployed.events
    assert [(each.action, each.result, each.versions) for each in result] == [
        ("retire", "done", {"text/minilm": NEW}),
        ("rollback", "done", {"text/minilm": OLD}),
    ]
    assert {each.who for each in result} == {"arn:aws:iam::123456789012:user/ada"}


@pytest.mark.parametrize("outcome", ["delivered", "rolled back", "wrong"])
def test_a_version_of_a_delivered_commit_is_not_retired(
    outcome: str, deployed: "FakeAws", fail: "Fail"
) -> None:
    delivery(deployed, outcome)
    write_event(deployed, "a" * 40)
    message = fail("retire", *ENDPOINT, "minilm", OLD)
    assert message.startswith("commit aaaaaaaaaaaa, delivered 20")
    assert f"{OLD} of text/minilm, and dev may be rolled back to it" in message


def test_a_version_of_a_commit_that_no_rollback_goes_to_is_retired(
    deployed: "FakeAws", data_of: "Data"
) -> None:
    delivery(deployed, "delivered")
    write_event(deployed, "b" * 40)
    assert len(data_of("retire", *ENDPOINT, "minilm", OLD)) == 2


def write_event(aws: "FakeAws", commit: str) -> None:
    """Record that a commit with the old version was delivered."""
    versions = {"text/minilm": OLD}
    event = Event(stage="dev", action="deliver", who="ada", versions=versions, commit=commit)
    stage_record.write(aws.s3.client, "bucket", event.end("delivered"))
