"""Updates step by step, on the thread of the test: waits pass when `FakeClock.sleep` is called."""

from collections.abc import Callable
from typing import Any

import pytest

from local_sagemaker.errors import ApiError, LocalSageMakerError
from local_sagemaker.happenings import Happening, HappeningKind
from local_sagemaker.sagemaker.hosting_api import Hosting
from local_sagemaker.tests.sagemaker.conftest import FakeClock, FakeFleet, Fleets, config
from local_sagemaker.tests.sagemaker.endpoints import TEXT
from local_sagemaker.tests.sagemaker.policies import auto_rollback, blue_green, rolling, size

Record = dict[str, Any]
TrafficShift = tuple[float, float]

CANARY = blue_green("CANARY", CanarySize=size(25), wait=20, termination=10)
IN_TWO = rolling(size(50), wait=10)


@pytest.fixture
def endpoint(hosting: Hosting, monkeypatch: pytest.MonkeyPatch) -> Hosting:
    """The endpoint Text with 4 instances of `old`, to be updated to `new`; nothing is a thread."""
    monkeypatch.setattr(hosting, "_in_background", lambda transition, *values: transition(*values))
    for name in ("old", "new"):
        hosting.create_endpoint_config(config(name, InitialInstanceCount=4))
    hosting.create_endpoint({**TEXT, "EndpointConfigName": "old"})
    return hosting


@pytest.fixture
def traffic_shifts(
    endpoint: Hosting, clock: FakeClock, alarms: dict[str, str]
) -> list[TrafficShift]:
    """Seconds and the share of the new fleet, whenever time passed."""
    moments: list[TrafficShift] = []
    clock.then = lambda seconds: moments.append((seconds, share(endpoint)))
    alarms["errors"] = "OK"
    return moments


def described(hosting: Hosting) -> Record:
    return hosting.describe_endpoint(TEXT)


def share(hosting: Hosting) -> float:
    return float(hosting.by_name["Text"].share)


def update(hosting: Hosting, deployment: Record | None = None, **more: Any) -> Record:
    """Update the endpoint, and return how it is described then."""
    values = {} if deployment is None else {"DeploymentConfig": deployment}
    answer = hosting.update_endpoint({**TEXT, "EndpointConfigName": "new", **values, **more})
    assert answer == {"EndpointArn": described(hosting)["EndpointArn"]}
    return described(hosting)


def outcome(described: Record) -> tuple[str, str, str | None]:
    return (
        described["EndpointStatus"],
        described["EndpointConfigName"],
        described.get("FailureReason"),
    )


def at(clock: FakeClock, second: float, act: Callable[[], Any]) -> None:
    """Let something happen when a second has passed."""
    clock.then = lambda seconds: act() if seconds == second else None


def answering(hosting: Hosting, monkeypatch: pytest.MonkeyPatch, draw: float) -> str:
    """Return the configuration of the fleet that gets a call which draws a number."""
    monkeypatch.setattr("random.random", lambda: draw)
    route = hosting.by_name["Text"].route()
    assert route
    fleet: Any = route[0]
    assert isinstance(fleet, FakeFleet)
    assert fleet.weights == {"only": 1.0}
    return fleet.config


# Forward


def test_each_status_is_told_and_why_an_update_is_rolled_back(
    endpoint: Hosting, clock: FakeClock, alarms: dict[str, str], happenings: list[Happening]
) -> None:
    alarms["errors"] = "OK"
    update(endpoint, {**CANARY, **auto_rollback("errors")})
    assert [each.message for each in happenings] == [
        "Text is Creating: configuration old",
        "Text is InService: configuration old",
        "Text is Updating: configuration new",
        "Text is InService: configuration new",
    ]
    assert {(each.kind, each.endpoint) for each in happenings} == {
        (HappeningKind.ENDPOINT_STATUS, "Text")
    }
    happenings.clear()
    clock.then = lambda _: alarms.update(errors="ALARM")
    update(endpoint, {**CANARY, **auto_rollback("errors")})
    assert [(each.kind, each.message) for each in happenings] == [
        (HappeningKind.ENDPOINT_STATUS, "Text is Updating: configuration new"),
        (HappeningKind.ENDPOINT_ROLLED_BACK, "The update to new is rolled back: in ALARM: errors"),
        (HappeningKind.ENDPOINT_STATUS, "Text is InService: configuration new"),
    ]
    happenings.clear()
    endpoint.delete_endpoint(TEXT)
    assert [(each.kind, each.message) for each in happenings] == [
        (HappeningKind.ENDPOINT_STATUS, "Text is Deleting: configuration new"),
        (HappeningKind.ENDPOINT_DELETED, "Text is deleted."),
    ]


def test_a_canary_takes_its_share_and_then_the_rest(
    endpoint: Hosting, traffic_shifts: list[TrafficShift]
) -> None:
    assert outcome(update(endpoint, CANARY)) == ("InService", "new", None)
    assert traffic_shifts == [(10, 0.25), (20, 0.25), (30, 1)]


def test_a_call_goes_to_the_new_fleet_by_its_share(
    endpoint: Hosting, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []
    at(
        clock,
        10,
        lambda: drawn.extend(
            answering(endpoint, monkeypatch, each) for each in (0, 0.2499, 0.25, 0.99)
        ),
    )
    update(endpoint, CANARY)
    assert drawn == ["new", "new", "old", "old"]
    assert answering(endpoint, monkeypatch, 0.99) == "new"


def test_a_rolling_update_replaces_a_batch_at_a_time(
    endpoint: Hosting, fleets: Fleets, clock: FakeClock
) -> None:
    counts = []

    def look(seconds: float) -> None:
        old, new = (each.counts["only"] for each in fleets.started)
        (of_old,) = described(endpoint)["ProductionVariants"]
        (of_new,) = described(endpoint)["PendingDeploymentSummary"]["ProductionVariants"]
        assert [each["CurrentInstanceCount"] for each in (of_old, of_new)] == [old, new]
        counts.append((seconds, old, new, share(endpoint)))

    clock.then = look
    assert outcome(update(endpoint, rolling(size(25), wait=10))) == ("InService", "new", None)
    assert counts == [(10, 4, 1, 0.25), (20, 3, 2, 0.5), (30, 2, 3, 0.75), (40, 1, 4, 1)]
    assert fleets.started[0].events[-2:] == ["draining", "stopped"]
    (variant,) = described(endpoint)["ProductionVariants"]
    assert variant["CurrentInstanceCount"] == 4


# What is described meanwhile


def test_an_update_is_described_while_it_is_pending(endpoint: Hosting, clock: FakeClock) -> None:
    during: list[Record] = []
    clock.then = lambda _: during.append(described(endpoint))
    ended = update(endpoint, CANARY)
    first = during[0]
    assert outcome(first) == ("Updating", "old", None)
    pending = first["PendingDeploymentSummary"]
    assert pending["EndpointConfigName"] == "new"
    assert pending["StartTime"] >= first["CreationTime"]
    (variant,) = pending["ProductionVariants"]
    assert variant == {
        "VariantName": "only",
        "CurrentWeight": 1.0,
        "DesiredWeight": 1.0,
        "CurrentInstanceCount": 4,
        "DesiredInstanceCount": 4,
    }
    assert "PendingDeploymentSummary" not in ended
    assert ended["LastDeploymentConfig"] == CANARY


# Back


@pytest.mark.parametrize("second", [10, 20, 30])
def test_an_alarm_takes_all_calls_back_and_leaves_no_reason(
    endpoint: Hosting,
    fleets: Fleets,
    clock: FakeClock,
    alarms: dict[str, str],
    caplog: pytest.LogCaptureFixture,
    second: float,
) -> None:
    alarms.update(errors="OK", slow="INSUFFICIENT_DATA")
    at(clock, second, lambda: alarms.update(slow="ALARM"))
    before = described(endpoint)
    ended = update(endpoint, {**CANARY, **auto_rollback("errors", "slow")})
    assert outcome(ended) == ("InService", "old", None)
    assert ended["ProductionVariants"] == before["ProductionVariants"]
    assert "PendingDeploymentSummary" not in ended
    assert clock.seconds == second
    assert fleets.started[0].events == []
    assert fleets.started[1].events == ["draining", "stopped"]
    assert share(endpoint) == 0
    assert "the update of endpoint Text is rolled back: in ALARM: slow" in caplog.text


@pytest.mark.parametrize("policy", [{}, CANARY, IN_TWO])
def test_an_alarm_that_is_in_alarm_already_rolls_back_before_anything_starts(
    endpoint: Hosting, fleets: Fleets, alarms: dict[str, str], policy: Record
) -> None:
    alarms["errors"] = "ALARM"
    assert outcome(update(endpoint, {**policy, **auto_rollback("errors")})) == (
        "InService",
        "old",
        None,
    )
    assert [each.config for each in fleets.started] == ["old"]


def test_while_it_is_rolled_back_an_endpoint_is_updating_and_the_old_fleet_answers(
    endpoint: Hosting, alarms: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    alarms["errors"] = "ALARM"
    result: list[str] = []

    def look(_: FakeFleet) -> None:
        during = described(endpoint)
        result.extend(
            (during["EndpointStatus"], during["PendingDeploymentSummary"]["EndpointConfigName"])
        )
        result.append(answering(endpoint, monkeypatch, 0.0))

    monkeypatch.setattr(FakeFleet, "stop", look)
    update(endpoint, {**CANARY, **auto_rollback("errors")})
    assert result == ["Updating", "new", "old"]


def test_an_update_that_takes_too_long_is_rolled_back(endpoint: Hosting, clock: FakeClock) -> None:
    slow = blue_green("LINEAR", LinearStepSize=size(10), wait=300, termination=0, timeout=600)
    status, name, why = outcome(update(endpoint, slow))
    assert (status, name) == ("InService", "old")
    assert why == "The deployment took longer than MaximumExecutionTimeoutInSeconds, 600 s."
    assert clock.seconds == 610


def test_a_rolling_update_comes_back_at_once(
    endpoint: Hosting, fleets: Fleets, clock: FakeClock, alarms: dict[str, str]
) -> None:
    alarms["errors"] = "OK"
    at(clock, 40, lambda: alarms.update(errors="ALARM"))
    update(endpoint, {**rolling(size(25), wait=10), **auto_rollback("errors")})
    old, new = fleets.started
    assert old.events == [f"scaling to {count}" for count in (3, 2, 1, 4)]
    assert new.events == [*(f"scaling to {count}" for count in (2, 3, 4)), "draining", "stopped"]


@pytest.fixture
def mixed(endpoint: Hosting, fleets: Fleets, clock: FakeClock, alarms: dict[str, str]) -> Hosting:
    """The endpoint after an update and a rollback that both failed."""
    alarms["errors"] = "OK"

    def break_down() -> None:
        alarms["errors"] = "ALARM"
        fleets.unscalable.append(LocalSageMakerError("no room"))

    at(clock, 20, break_down)
    update(endpoint, {**IN_TWO, **auto_rollback("errors")})
    return endpoint


def test_where_the_rollback_fails_too_both_fleets_serve(
    mixed: Hosting, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert outcome(described(mixed)) == (
        "UpdateRollbackFailed",
        "old",
        "in ALARM: errors; and the rollback failed: no room",
    )
    assert answering(mixed, monkeypatch, 0.0) == "new"


def test_an_update_mends_what_a_failed_rollback_left(
    mixed: Hosting, fleets: Fleets, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert outcome(update(mixed)) == ("InService", "new", None)
    assert [each.events[-2:] for each in fleets.started[:2]] == [["draining", "stopped"]] * 2
    assert fleets.started[2].events == []
    mixed.stop()
    assert [each.events[-2:] for each in fleets.started[:2]] == [["draining", "stopped"]] * 2


# Everything stops


@pytest.mark.parametrize("alarm", ["OK", "ALARM"])
def test_nothing_changes_after_everything_stopped(
    endpoint: Hosting, alarms: dict[str, str], monkeypatch: pytest.MonkeyPatch, alarm: str
) -> None:
    alarms["errors"] = alarm
    state = endpoint.by_name["Text"]
    monkeypatch.setattr(FakeFleet, "drain", lambda *_: endpoint.stop())
    request = {**TEXT, "EndpointConfigName": "new", "DeploymentConfig": auto_rollback("errors")}
    endpoint.update_endpoint(request)
    assert (state.status, state.fleet) == ("Updating", None)


# Refusals


def test_what_aws_refuses_is_refused_before_anything_changes(
    endpoint: Hosting, fleets: Fleets
) -> None:
    before = described(endpoint)
    for refused, why in (
        (blue_green("CANARY", CanarySize=size(51)), "CanarySize is 51"),
        (auto_rollback("none"), "Could not find the CloudWatch alarm none"),
    ):
        with pytest.raises(ApiError, match=why):
            update(endpoint, refused)
    assert described(endpoint) == before
    assert len(fleets.made) == 1
