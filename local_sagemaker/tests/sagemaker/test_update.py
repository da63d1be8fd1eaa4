"""Endpoint updates step by step on the thread of the test; `FakeClock.sleep` advances the time."""

import functools
from collections.abc import Callable
from typing import Any

import pytest

from local_sagemaker.dashboard_events import DashboardEvent, EventKind
from local_sagemaker.errors import ApiError, LocalSageMakerError
from local_sagemaker.sagemaker.endpoint_operations import EndpointOperations
from local_sagemaker.tests.sagemaker.conftest import FakeClock, FakeFleet, Fleets, config
from local_sagemaker.tests.sagemaker.endpoints import TEXT
from local_sagemaker.tests.sagemaker.policies import auto_rollback, blue_green, rolling, size

Record = dict[str, Any]
TrafficShift = tuple[float, float]

CANARY = blue_green("CANARY", CanarySize=size(25), wait=20, termination=10)
TWO_BATCHES = rolling(size(50), wait=10)


@pytest.fixture
def endpoint(hosting: EndpointOperations, monkeypatch: pytest.MonkeyPatch) -> EndpointOperations:
    """The endpoint Text with 4 instances of configuration `old`; transitions are synchronous."""
    monkeypatch.setattr(hosting, "_in_background", lambda transition, *values: transition(*values))
    for name in ("old", "new"):
        hosting.create_endpoint_config(config(name, InitialInstanceCount=4))
    hosting.create_endpoint({**TEXT, "EndpointConfigName": "old"})
    return hosting


@pytest.fixture
def traffic_shifts(
    endpoint: EndpointOperations, clock: FakeClock, alarms: dict[str, str]
) -> list[TrafficShift]:
    """The time in seconds and the traffic share of the new fleet at each sleep of the clock."""
    samples: list[TrafficShift] = []
    clock.on_sleep = lambda seconds: samples.append((seconds, share(endpoint)))
    alarms["errors"] = "OK"
    return samples


def describe(hosting: EndpointOperations) -> Record:
    return hosting.describe_endpoint(TEXT)


def share(hosting: EndpointOperations) -> float:
    return float(hosting.endpoints_by_name["Text"].new_fleet_share)


def update(hosting: EndpointOperations, deployment: Record | None = None, **members: Any) -> Record:
    """Update the endpoint, and return its description."""
    values = {} if deployment is None else {"DeploymentConfig": deployment}
    answer = hosting.update_endpoint({**TEXT, "EndpointConfigName": "new", **values, **members})
    assert answer == {"EndpointArn": describe(hosting)["EndpointArn"]}
    return describe(hosting)


def outcome(description: Record) -> tuple[str, str, str | None]:
    return (
        description["EndpointStatus"],
        description["EndpointConfigName"],
        description.get("FailureReason"),
    )


def schedule(clock: FakeClock, second: float, action: Callable[[], Any]) -> None:
    """Call `action` when the clock reaches `second`."""
    clock.on_sleep = lambda seconds: action() if seconds == second else None


def routed_config(hosting: EndpointOperations, monkeypatch: pytest.MonkeyPatch, draw: float) -> str:
    """Return the configuration of the fleet that is chosen when `random.random` returns `draw`."""
    monkeypatch.setattr("random.random", lambda: draw)
    route = hosting.endpoints_by_name["Text"].route()
    assert route
    fleet: Any = route[0]
    assert isinstance(fleet, FakeFleet)
    assert fleet.weights == {"only": 1.0}
    return fleet.config


# Successful updates


def test_events_of_updates_and_rollbacks(
    endpoint: EndpointOperations,
    clock: FakeClock,
    alarms: dict[str, str],
    dashboard_events: list[DashboardEvent],
) -> None:
    alarms["errors"] = "OK"
    update(endpoint, {**CANARY, **auto_rollback("errors")})
    assert [event.message for event in dashboard_events] == [
        "Text is Creating: configuration old",
        "Text is InService: configuration old",
        "Text is Updating: configuration new",
        "Text is InService: configuration new",
    ]
    assert {(event.kind, event.endpoint) for event in dashboard_events} == {
        (EventKind.ENDPOINT_STATUS, "Text")
    }
    dashboard_events.clear()
    clock.on_sleep = lambda _: alarms.update(errors="ALARM")
    update(endpoint, {**CANARY, **auto_rollback("errors")})
    assert [(event.kind, event.message) for event in dashboard_events] == [
        (EventKind.ENDPOINT_STATUS, "Text is Updating: configuration new"),
        (EventKind.ENDPOINT_ROLLED_BACK, "The update to new is rolled back: in ALARM: errors"),
        (EventKind.ENDPOINT_STATUS, "Text is InService: configuration new"),
    ]
    dashboard_events.clear()
    endpoint.delete_endpoint(TEXT)
    assert [(event.kind, event.message) for event in dashboard_events] == [
        (EventKind.ENDPOINT_STATUS, "Text is Deleting: configuration new"),
        (EventKind.ENDPOINT_DELETED, "Text is deleted."),
    ]


def test_canary_shifts_its_share_first(
    endpoint: EndpointOperations, traffic_shifts: list[TrafficShift]
) -> None:
    assert outcome(update(endpoint, CANARY)) == ("InService", "new", None)
    assert traffic_shifts == [(10, 0.25), (20, 0.25), (30, 1)]


def test_retained_deployment_config_shifts_traffic_again(
    endpoint: EndpointOperations, traffic_shifts: list[TrafficShift]
) -> None:
    update(endpoint, CANARY)
    first = list(traffic_shifts)
    update(endpoint, EndpointConfigName="old", RetainDeploymentConfig=True)
    second = [(time - first[-1][0], share) for time, share in traffic_shifts[len(first) :]]
    assert second == first


def test_traffic_share_routes_invocations(
    endpoint: EndpointOperations, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    configs: list[str] = []
    draws = (0, 0.2499, 0.25, 0.99)
    route = functools.partial(routed_config, endpoint, monkeypatch)
    schedule(clock, 10, lambda: configs.extend(map(route, draws)))
    update(endpoint, CANARY)
    assert configs == ["new", "new", "old", "old"]
    assert routed_config(endpoint, monkeypatch, 0.99) == "new"


def test_rolling_update_replaces_batches(
    endpoint: EndpointOperations, fleets: Fleets, clock: FakeClock
) -> None:
    counts = []

    def record_counts(seconds: float) -> None:
        old, new = (fleet.counts["only"] for fleet in fleets.started)
        (current,) = describe(endpoint)["ProductionVariants"]
        (pending,) = describe(endpoint)["PendingDeploymentSummary"]["ProductionVariants"]
        assert [v["CurrentInstanceCount"] for v in (current, pending)] == [old, new]
        counts.append((seconds, old, new, share(endpoint)))

    clock.on_sleep = record_counts
    assert outcome(update(endpoint, rolling(size(25), wait=10))) == ("InService", "new", None)
    assert counts == [(10, 4, 1, 0.25), (20, 3, 2, 0.5), (30, 2, 3, 0.75), (40, 1, 4, 1)]
    assert fleets.started[0].events[-2:] == ["draining", "stopped"]
    (variant,) = describe(endpoint)["ProductionVariants"]
    assert variant["CurrentInstanceCount"] == 4


def test_no_new_instance_is_described_before_the_start(
    endpoint: EndpointOperations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "_in_background", lambda *_: None)
    endpoint.update_endpoint({**TEXT, "EndpointConfigName": "new"})
    (pending,) = describe(endpoint)["PendingDeploymentSummary"]["ProductionVariants"]
    assert (pending["CurrentInstanceCount"], pending["DesiredInstanceCount"]) == (0, 4)


# Rollback


@pytest.mark.parametrize("policy", [{}, CANARY, TWO_BATCHES])
def test_existing_alarm_rolls_back_before_the_start(
    endpoint: EndpointOperations, fleets: Fleets, alarms: dict[str, str], policy: Record
) -> None:
    alarms["errors"] = "ALARM"
    before = describe(endpoint)
    description = update(endpoint, {**policy, **auto_rollback("errors")})
    assert outcome(description) == ("InService", "old", None)
    assert description["ProductionVariants"] == before["ProductionVariants"]
    assert "PendingDeploymentSummary" not in description
    assert [fleet.config for fleet in fleets.started] == ["old"]


def test_old_fleet_answers_during_a_rollback(
    endpoint: EndpointOperations, alarms: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    alarms["errors"] = "ALARM"
    result: list[str] = []

    def record_state(_: FakeFleet) -> None:
        during = describe(endpoint)
        result.extend(
            (during["EndpointStatus"], during["PendingDeploymentSummary"]["EndpointConfigName"])
        )
        result.append(routed_config(endpoint, monkeypatch, 0.0))

    monkeypatch.setattr(FakeFleet, "stop", record_state)
    update(endpoint, {**CANARY, **auto_rollback("errors")})
    assert result == ["Updating", "new", "old"]


def test_deployment_timeout_rolls_back(endpoint: EndpointOperations, clock: FakeClock) -> None:
    slow = blue_green("LINEAR", LinearStepSize=size(10), wait=300, termination=0, timeout=600)
    status, name, reason = outcome(update(endpoint, slow))
    assert (status, name) == ("InService", "old")
    assert reason == "The deployment took longer than MaximumExecutionTimeoutInSeconds, 600 s."
    assert clock.seconds == 610


def test_rolling_update_rolls_back_in_one_step(
    endpoint: EndpointOperations, fleets: Fleets, clock: FakeClock, alarms: dict[str, str]
) -> None:
    alarms["errors"] = "OK"
    schedule(clock, 40, lambda: alarms.update(errors="ALARM"))
    update(endpoint, {**rolling(size(25), wait=10), **auto_rollback("errors")})
    old, new = fleets.started
    assert old.events == [f"scaling to {count}" for count in (3, 2, 1, 4)]
    assert new.events == [*(f"scaling to {count}" for count in (2, 3, 4)), "draining", "stopped"]


@pytest.fixture
def rollback_failed(
    endpoint: EndpointOperations, fleets: Fleets, clock: FakeClock, alarms: dict[str, str]
) -> EndpointOperations:
    """The endpoint after a failed update and a failed rollback."""
    alarms["errors"] = "OK"

    def fail_rollback() -> None:
        alarms["errors"] = "ALARM"
        fleets.scaling_errors.append(LocalSageMakerError("no room"))

    schedule(clock, 20, fail_rollback)
    update(endpoint, {**TWO_BATCHES, **auto_rollback("errors")})
    return endpoint


def test_both_fleets_serve_after_a_failed_rollback(
    rollback_failed: EndpointOperations, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert outcome(describe(rollback_failed)) == (
        "UpdateRollbackFailed",
        "old",
        "in ALARM: errors; and the rollback failed: no room",
    )
    assert routed_config(rollback_failed, monkeypatch, 0.0) == "new"


def test_update_repairs_a_failed_rollback(
    rollback_failed: EndpointOperations, fleets: Fleets, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert outcome(update(rollback_failed)) == ("InService", "new", None)
    assert [fleet.events[-2:] for fleet in fleets.started[:2]] == [["draining", "stopped"]] * 2
    assert fleets.started[2].events == []
    rollback_failed.stop()
    assert [fleet.events[-2:] for fleet in fleets.started[:2]] == [["draining", "stopped"]] * 2


# Stop


@pytest.mark.parametrize("alarm", ["OK", "ALARM"])
def test_stop_during_an_update_keeps_the_status(
    endpoint: EndpointOperations,
    alarms: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    alarm: str,
) -> None:
    alarms["errors"] = alarm
    state = endpoint.endpoints_by_name["Text"]
    monkeypatch.setattr(FakeFleet, "drain", lambda *_: endpoint.stop())
    request = {**TEXT, "EndpointConfigName": "new", "DeploymentConfig": auto_rollback("errors")}
    endpoint.update_endpoint(request)
    assert (state.status, state.fleet) == ("Updating", None)


# Refusals


def test_refused_update_changes_nothing(endpoint: EndpointOperations, fleets: Fleets) -> None:
    before = describe(endpoint)
    for refused, message in (
        (blue_green("CANARY", CanarySize=size(51)), "CanarySize is 51"),
        (auto_rollback("none"), "Could not find the CloudWatch alarm none"),
    ):
        with pytest.raises(ApiError, match=message):
            update(endpoint, refused)
    assert describe(endpoint) == before
    assert len(fleets.all) == 1
