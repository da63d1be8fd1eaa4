"""Commands that change a model, together with deliveries: locks, events and kept versions."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from plan import stage_record
from plan.stage_record import Event
from tests.unit.model_build.commands.conftest import ENDPOINT, VERSIONS, FakeAws, fail, run_json

_, OLD, NEW = VERSIONS
COMMANDS = [("rollback", "minilm"), ("retire", "minilm", OLD)]


def write_delivery(aws: FakeAws, result: str, *, age: timedelta = timedelta()) -> None:
    """Record a delivery of a release that has the old version."""
    begun = (datetime.now(UTC) - age).isoformat()
    event = Event(stage="dev", action="deliver", who="ada", versions={"text/minilm": OLD},
                  commit="a" * 40, release="1" * 64, begun=begun)  # fmt: skip
    if result != "started":
        event = event.end(result)
    stage_record.write(aws.s3.client, "bucket", event)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda value: value[0])
def test_command_during_a_delivery_is_refused(
    command: tuple[str, ...], deployed_minilm: FakeAws
) -> None:
    write_delivery(deployed_minilm, "started")
    message = fail(command[0], *ENDPOINT, *command[1:])
    assert message.startswith("a delivery of release 111111111111 (commit aaaaaaaaaaaa) to dev is")
    assert "make deliver STAGE=dev resumes it; --during-delivery ignores it" in message
    assert (deployed_minilm.writes, len(deployed_minilm.events)) == ([], 1)


@pytest.mark.parametrize("command", [*COMMANDS, ("publish",)], ids=lambda command: command[0])
def test_endpoint_of_components_is_refused(
    command: tuple[str, ...], doubled: Path, aws: FakeAws
) -> None:
    # The name of this endpoint differs from its stack, and it has no archive prefix.
    name = "dev-text-g5-xlarge"
    for version in (OLD, NEW):
        entry = {"endpoint": name, "model": "minilm", "target_model": None, "version": version}
        aws.put(entry)
    aws.sagemaker.endpoints[name] = [None]
    message = fail(command[0], *ENDPOINT, *(command[1:] or [doubled]))
    assert message.startswith(f"{name} is not a multi-model endpoint: another version")
    assert message.endswith("tritonsm deliver, tritonsm rollback-stage")
    assert (aws.writes, aws.archives) == ([], set())


def test_rollback_to_another_hosting_mode_is_refused(aws: FakeAws) -> None:
    entry = {"endpoint": "dev-text-g5-xlarge", "model": "minilm", "target_model": None}
    aws.put({**entry, "version": OLD})
    aws.deploy("minilm", NEW)
    message = fail("rollback", *ENDPOINT, "minilm")
    assert message.startswith(f"minilm {OLD} was deployed with another hosting mode")
    assert aws.writes == []


def test_killed_delivery_can_be_ignored(deployed_minilm: FakeAws) -> None:
    write_delivery(deployed_minilm, "started")
    assert run_json("rollback", *ENDPOINT, "minilm", "--during-delivery")["version"] == OLD


def test_killed_delivery_expires(deployed_minilm: FakeAws) -> None:
    write_delivery(deployed_minilm, "started", age=stage_record.MAX_DURATION)
    assert run_json("rollback", *ENDPOINT, "minilm")["version"] == OLD


def test_each_change_is_recorded_as_an_event(deployed_minilm: FakeAws) -> None:
    run_json("rollback", *ENDPOINT, "minilm")
    run_json("retire", *ENDPOINT, "minilm", NEW)
    events = deployed_minilm.events
    assert [(event.action, event.result, event.versions) for event in events] == [
        ("retire", "done", {"text/minilm": NEW}),
        ("rollback", "done", {"text/minilm": OLD}),
    ]
    assert {event.who for event in events} == {"arn:aws:iam::123456789012:user/ada"}


@pytest.mark.parametrize("result", ["delivered", "wrong"])
def test_version_of_a_delivered_release_is_not_retired(
    result: str, deployed_minilm: FakeAws
) -> None:
    write_delivery(deployed_minilm, result)
    message = fail("retire", *ENDPOINT, "minilm", OLD)
    assert message.startswith("release 111111111111 (commit aaaaaaaaaaaa), delivered 20")
    assert f"{OLD} of text/minilm, and dev may be rolled back to it" in message


def test_version_of_a_failed_delivery_is_retired(deployed_minilm: FakeAws) -> None:
    write_delivery(deployed_minilm, "failed")
    run_json("retire", *ENDPOINT, "minilm", OLD)
    assert [event.action for event in deployed_minilm.events] == ["retire", "deliver"]
