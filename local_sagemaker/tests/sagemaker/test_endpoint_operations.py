from typing import Any

import pytest

from local_sagemaker.errors import ApiError
from local_sagemaker.sagemaker.endpoint_operations import EndpointOperations
from local_sagemaker.tests.sagemaker.conftest import (
    FakeClock,
    Fleets,
    config,
    model,
)
from local_sagemaker.tests.sagemaker.endpoints import (
    ARN,
    TEXT,
    create,
    delete,
    error_message,
    is_serving,
    serving_config,
    set_capacity,
    status,
    update,
    wait_in_service,
)
from local_sagemaker.tests.support.waiting import eventually

# Update


# Data capture


CAPTURED = {
    "InitialSamplingPercentage": 50,
    "DestinationS3Uri": "s3://captured/",
    "CaptureOptions": [{"CaptureMode": "Input"}],
}


@pytest.mark.parametrize(
    ("members", "enabled", "capture", "key"),
    [
        ({}, True, "Started", ""),
        ({"EnableCapture": True, "KmsKeyId": "alias/key"}, True, "Started", "alias/key"),
        ({"EnableCapture": False}, False, "Stopped", ""),
    ],
)
def test_data_capture_is_described(
    hosting: EndpointOperations, members: dict[str, Any], enabled: bool, capture: str, key: str
) -> None:
    capture_config = {**CAPTURED, **members}
    hosting.create_endpoint_config({**config("three"), "DataCaptureConfig": capture_config})
    create(hosting)
    assert "DataCaptureConfig" not in wait_in_service(hosting)
    update(hosting, "three")
    assert wait_in_service(hosting)["DataCaptureConfig"] == {
        "EnableCapture": enabled,
        "CaptureStatus": capture,
        "CurrentSamplingPercentage": 50,
        "DestinationS3Uri": "s3://captured/",
        "KmsKeyId": key,
    }


# Refusals


@pytest.mark.parametrize("state", ["Creating", "Updating"])
def test_endpoint_in_transition_refuses_changes(
    hosting: EndpointOperations, fleets: Fleets, state: str
) -> None:
    if state == "Updating":
        create(hosting)
        wait_in_service(hosting)
    fleets.ready.clear()
    create(hosting) if state == "Creating" else update(hosting)
    assert status(hosting) == state
    with pytest.raises(ApiError) as exc_info:
        update(hosting)
    assert error_message(exc_info) == f'Cannot update in-progress endpoint "{ARN}:endpoint/text".'
    with pytest.raises(ApiError, match="Cannot update in-progress endpoint"):
        set_capacity(hosting, DesiredInstanceCount=4)
    with pytest.raises(ApiError, match="Cannot update in-progress endpoint"):
        hosting.delete_endpoint(TEXT)
    assert status(hosting) == state


INTERNAL_ERROR = "Internal error of the local SageMaker: see its log."


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (KeyError("m"), INTERNAL_ERROR),
        (OSError(8, "Exec format error", "/home/me/tritonserver"), "Exec format error"),
        (ApiError("ValidationError", "Failed to download"), "Failed to download"),
    ],
)
def test_failure_reason_hides_internal_errors(
    hosting: EndpointOperations,
    fleets: Fleets,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    reason: str,
) -> None:
    fleets.failure = error
    create(hosting, "Images")
    eventually(lambda: status(hosting, "Images") == "Failed")
    assert hosting.describe_endpoint({"EndpointName": "Images"})["FailureReason"] == reason
    assert ("KeyError: 'm'" in caplog.text) is (reason == INTERNAL_ERROR)
    fleets.failure = None
    create(hosting)
    wait_in_service(hosting)
    fleets.failure = error
    update(hosting)
    assert wait_in_service(hosting)["FailureReason"] == reason
    assert serving_config(hosting) == "one"


# Deletion


def test_endpoint_serves_after_deletion_of_its_configuration(
    serving: EndpointOperations, fleets: Fleets
) -> None:
    serving.delete_endpoint_config({"EndpointConfigName": "one"})
    serving.delete_model({"ModelName": "m"})
    assert wait_in_service(serving)["EndpointConfigName"] == "one"
    assert serving_config(serving) == "one"
    delete(serving)


def test_endpoint_without_configuration_refuses_updates(serving: EndpointOperations) -> None:
    serving.delete_endpoint_config({"EndpointConfigName": "one"})
    with pytest.raises(ApiError) as exc_info:
        update(serving)
    assert error_message(exc_info) == (
        f'Could not find endpoint configuration "{ARN}:endpoint-config/one".'
    )
    assert status(serving) == "InService"


@pytest.mark.parametrize("name", ["one", "two"])
def test_configurations_of_an_update_cannot_be_deleted(
    serving: EndpointOperations, fleets: Fleets, name: str
) -> None:
    fleets.ready.clear()
    update(serving)
    with pytest.raises(ApiError, match="uses it and has the status Updating"):
        serving.delete_endpoint_config({"EndpointConfigName": name})
    serving.delete_model({"ModelName": "m"})
    fleets.ready.set()
    assert wait_in_service(serving)["EndpointConfigName"] == "two"
    serving.describe_endpoint_config({"EndpointConfigName": name})


def test_failed_update_has_a_minimum_duration(
    serving: EndpointOperations, fleets: Fleets, clock: FakeClock
) -> None:
    clock.elapsed.clear()
    fleets.fail("Failed to download model data")
    update(serving)
    eventually(lambda: clock.waiting)
    description = serving.describe_endpoint(TEXT)
    assert (description["EndpointStatus"], description["EndpointConfigName"]) == ("Updating", "one")
    assert "FailureReason" not in description
    assert fleets.all[1].events[-1] == "stopped"
    clock.elapsed.set()
    assert wait_in_service(serving)["FailureReason"] == "Failed to download model data"


@pytest.mark.parametrize(
    ("new", "refused"),
    [
        ({"InstanceType": "ml.g5.2xlarge"}, True),
        ({"VariantName": "other"}, True),
        ({"InitialInstanceCount": 4, "InitialVariantWeight": 0.5, "ModelName": "n"}, False),
    ],
)
def test_scalable_target_keeps_its_instance_type(
    serving: EndpointOperations, scalable_variants: set[str], new: dict[str, Any], refused: bool
) -> None:
    serving.create_model(model("n"))
    serving.create_endpoint_config(config("three", **new))
    scalable_variants.add("only")
    if refused:
        with pytest.raises(ApiError, match=r"^Variant only is a scalable target") as refusal_:
            update(serving, "three")
        assert "DeregisterScalableTarget" in error_message(refusal_)
        assert status(serving) == "InService"
        scalable_variants.clear()
    update(serving, "three")
    assert wait_in_service(serving)["EndpointConfigName"] == "three"


def test_deletion_deregisters_scalable_targets(
    hosting: EndpointOperations, fleets: Fleets, scalable_variants: set[str]
) -> None:
    fleets.ready.clear()
    create(hosting)
    scalable_variants.add("only")
    with pytest.raises(ApiError, match="Cannot update in-progress endpoint"):
        hosting.delete_endpoint(TEXT)
    assert scalable_variants
    fleets.ready.set()
    wait_in_service(hosting)
    delete(hosting)
    assert not scalable_variants


def test_deletion_waits_for_invocations(serving: EndpointOperations, fleets: Fleets) -> None:
    fleets.idle.clear()
    serving.delete_endpoint(TEXT)
    assert status(serving) == "Deleting"
    assert not is_serving(serving)
    with pytest.raises(ApiError, match="Cannot create already existing endpoint"):
        create(serving)
    with pytest.raises(ApiError, match="Cannot update in-progress endpoint"):
        serving.delete_endpoint(TEXT)
    eventually(lambda: fleets.started[0].events == ["draining"])
    fleets.idle.set()
    eventually(lambda: serving.list_endpoints({})["Endpoints"] == [])
    assert fleets.started[0].events == ["draining", "stopped"]
    with pytest.raises(ApiError, match="Could not find endpoint"):
        serving.describe_endpoint(TEXT)


@pytest.mark.parametrize("transition", ["deletion", "update"])
def test_stop_ends_draining_instances(
    serving: EndpointOperations, fleets: Fleets, transition: str
) -> None:
    fleets.idle.clear()
    serving.delete_endpoint(TEXT) if transition == "deletion" else update(serving)
    eventually(lambda: fleets.started[0].events == ["draining"])
    serving.stop()
    assert fleets.started[0].events == ["draining", "stopped"]


def test_stop_ends_starting_instances(serving: EndpointOperations, fleets: Fleets) -> None:
    fleets.ready.clear()
    update(serving)
    create(serving, "Images")
    serving.stop()
    assert [fleet.events for fleet in fleets.all] == [["stopped"]] * 3
