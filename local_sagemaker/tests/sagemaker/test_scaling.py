import threading
from typing import Any

import pytest

from local_sagemaker.errors import ApiError, LocalSageMakerError
from local_sagemaker.sagemaker.endpoint_operations import EndpointOperations
from local_sagemaker.tests.sagemaker.conftest import FakeClock, FakeFleet, Fleets, config
from local_sagemaker.tests.sagemaker.endpoints import (
    TEXT,
    set_capacity,
    status,
    variant_values,
    wait_in_service,
)
from local_sagemaker.tests.support.waiting import eventually


def test_capacity_is_changed_by_an_update(serving: EndpointOperations) -> None:
    with serving._lock:  # the update cannot end
        set_capacity(serving, DesiredInstanceCount=4)
        assert status(serving) == "Updating"
        assert variant_values(serving, "CurrentInstanceCount", "DesiredInstanceCount") == (1, 4)
        with pytest.raises(ApiError, match="Cannot update in-progress endpoint"):
            set_capacity(serving, DesiredWeight=0.25)
    wait_in_service(serving)
    set_capacity(serving, DesiredWeight=0.25)
    wait_in_service(serving)
    assert variant_values(serving, "CurrentInstanceCount", "DesiredInstanceCount") == (4, 4)
    assert variant_values(serving, "CurrentWeight", "DesiredWeight") == (0.25, 0.25)
    route = serving.endpoints_by_name["Text"].route()
    assert route
    fleet: Any = route[0]
    assert fleet.weights == {"only": 0.25}


def test_weight_update_has_a_minimum_duration(
    serving: EndpointOperations, clock: FakeClock
) -> None:
    clock.elapsed.clear()
    set_capacity(serving, DesiredWeight=0.5)
    eventually(lambda: clock.waiting or status(serving) == "InService")
    assert status(serving) == "Updating"
    assert variant_values(serving, "CurrentWeight", "DesiredWeight") == (1.0, 0.5)
    clock.elapsed.set()
    assert wait_in_service(serving)["ProductionVariants"][0]["CurrentWeight"] == 0.5


def test_failed_scaling_restores_the_instance_count(
    serving: EndpointOperations, fleets: Fleets, monkeypatch: pytest.MonkeyPatch
) -> None:
    observed: list[tuple[Any, ...]] = []
    scale = FakeFleet.scale

    def record_scaling(fleet: FakeFleet, counts: Any) -> None:
        values = variant_values(
            serving, "CurrentInstanceCount", "DesiredInstanceCount", "DesiredWeight"
        )
        observed.append((status(serving), *values))
        scale(fleet, counts)

    monkeypatch.setattr(FakeFleet, "scale", record_scaling)
    fleets.scaling_errors.append(LocalSageMakerError("no room"))
    set_capacity(serving, DesiredInstanceCount=4, DesiredWeight=0.5)
    assert wait_in_service(serving)["FailureReason"] == "no room"
    assert observed == [("Updating", 1, 4, 0.5)]
    assert fleets.started[0].counts == {"only": 1}
    assert variant_values(serving, "CurrentInstanceCount", "CurrentWeight") == (1, 1.0)
    set_capacity(serving, DesiredInstanceCount=2)
    assert "FailureReason" not in wait_in_service(serving)


def test_stop_during_scaling_keeps_the_status(
    serving: EndpointOperations, fleets: Fleets, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = threading.Event()

    def scale(*_: Any) -> None:
        serving.stop()
        stopped.set()
        raise LocalSageMakerError("stopped")

    monkeypatch.setattr(FakeFleet, "scale", scale)
    endpoint = serving.endpoints_by_name["Text"]
    set_capacity(serving, DesiredInstanceCount=4)
    stopped.wait()
    assert endpoint.status == "Updating"


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({}, (3, 1.0)),
        ({"RetainAllVariantProperties": False}, (3, 1.0)),
        ({"RetainAllVariantProperties": True}, (4, 0.25)),
        ({"RetainAllVariantProperties": True,
          "ExcludeRetainedVariantProperties": [{"VariantPropertyType": "DesiredInstanceCount"}]},
         (3, 0.25)),
    ],
)  # fmt: skip
def test_update_retains_selected_variant_properties(
    serving: EndpointOperations, request_: dict[str, Any], expected: tuple[float, ...]
) -> None:
    serving.create_endpoint_config(config("three", InitialInstanceCount=3))
    set_capacity(serving, DesiredInstanceCount=4, DesiredWeight=0.25)
    wait_in_service(serving)
    serving.update_endpoint({**TEXT, "EndpointConfigName": "three", **request_})
    wait_in_service(serving)
    assert variant_values(serving, "CurrentInstanceCount", "CurrentWeight") == expected
    assert variant_values(serving, "DesiredInstanceCount", "DesiredWeight") == expected
