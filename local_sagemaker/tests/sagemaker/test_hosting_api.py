from typing import Any

import pytest

from local_sagemaker.errors import ApiError
from local_sagemaker.sagemaker.hosting_api import Hosting
from local_sagemaker.tests.sagemaker.conftest import (
    FakeClock,
    Fleets,
    config,
    model,
)
from local_sagemaker.tests.sagemaker.endpoints import (
    ARN,
    TEXT,
    answers,
    create,
    delete,
    in_service,
    refusal,
    serves,
    set_by_hand,
    status,
    update,
)
from local_sagemaker.tests.support.waiting import eventually

# Creation


# Update


def test_the_old_instances_answer_until_the_new_are_healthy(
    hosting: Hosting, fleets: Fleets
) -> None:
    create(hosting)
    before = in_service(hosting)
    fleets.ready.clear()
    update(hosting)
    eventually(lambda: len(fleets.fleet_arguments) == 2)
    assert (status(hosting), answers(hosting)) == ("Updating", "one")
    assert hosting.describe_endpoint(TEXT)["EndpointConfigName"] == "one"
    assert fleets.started[0].events == []
    fleets.ready.set()
    after = in_service(hosting)
    assert (after["EndpointConfigName"], answers(hosting)) == ("two", "two")
    assert after["CreationTime"] == before["CreationTime"]
    assert after["LastModifiedTime"] > before["LastModifiedTime"]
    assert "FailureReason" not in after


def test_the_old_instances_finish_what_they_have_before_they_end(
    hosting: Hosting, fleets: Fleets
) -> None:
    create(hosting)
    in_service(hosting)
    fleets.quiet.clear()
    update(hosting)
    old = fleets.started[0]
    eventually(lambda: old.events == ["draining"])
    assert (status(hosting), answers(hosting)) == ("Updating", "two")
    fleets.quiet.set()
    in_service(hosting)
    assert old.events == ["draining", "stopped"]
    assert fleets.started[1].events == []


# Data capture


CAPTURED = {
    "InitialSamplingPercentage": 50,
    "DestinationS3Uri": "s3://captured/",
    "CaptureOptions": [{"CaptureMode": "Input"}],
}


@pytest.mark.parametrize(
    ("more", "enabled", "capture", "key"),
    [
        ({}, True, "Started", ""),
        ({"EnableCapture": True, "KmsKeyId": "alias/key"}, True, "Started", "alias/key"),
        ({"EnableCapture": False}, False, "Stopped", ""),
    ],
)
def test_the_capture_of_what_serves_is_described(
    hosting: Hosting, more: dict[str, Any], enabled: bool, capture: str, key: str
) -> None:
    requests = {**CAPTURED, **more}
    hosting.create_endpoint_config({**config("three"), "DataCaptureConfig": requests})
    create(hosting)
    assert "DataCaptureConfig" not in in_service(hosting)
    update(hosting, "three")
    assert in_service(hosting)["DataCaptureConfig"] == {
        "EnableCapture": enabled,
        "CaptureStatus": capture,
        "CurrentSamplingPercentage": 50,
        "DestinationS3Uri": "s3://captured/",
        "KmsKeyId": key,
    }


# Refusals


@pytest.mark.parametrize("state", ["Creating", "Updating"])
def test_an_endpoint_in_transition_takes_no_update(
    hosting: Hosting, fleets: Fleets, state: str
) -> None:
    if state == "Updating":
        create(hosting)
        in_service(hosting)
    fleets.ready.clear()
    create(hosting) if state == "Creating" else update(hosting)
    assert status(hosting) == state
    with pytest.raises(ApiError) as refused:
        update(hosting)
    assert refusal(refused) == f'Cannot update in-progress endpoint "{ARN}:endpoint/text".'
    with pytest.raises(ApiError, match="Cannot update in-progress endpoint"):
        set_by_hand(hosting, DesiredInstanceCount=4)
    with pytest.raises(ApiError, match="Cannot update in-progress endpoint"):
        hosting.delete_endpoint(TEXT)
    assert status(hosting) == state


def test_an_invocation_is_counted_before_an_update_can_take_its_instances(
    hosting: Hosting, fleets: Fleets
) -> None:
    create(hosting)
    in_service(hosting)
    old = fleets.started[0]
    route = hosting.by_name["Text"].route()
    assert route
    fleet, instance = route
    assert old.busy == 1
    update(hosting)
    in_service(hosting)
    fleet.release(instance)
    assert old.busy == 0


UNFORESEEN = "An internal error of the local SageMaker; its log says which."


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (KeyError("m"), UNFORESEEN),
        (OSError(8, "Exec format error", "/home/me/tritonserver"), "Exec format error"),
        (ApiError("ValidationError", "Failed to download"), "Failed to download"),
    ],
)
def test_a_reason_is_in_words_and_the_log_has_what_nobody_foresaw(
    hosting: Hosting,
    fleets: Fleets,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    reason: str,
) -> None:
    fleets.failure = error
    create(hosting, "Images")
    eventually(lambda: status(hosting, "Images") == "Failed")
    assert hosting.describe_endpoint({"EndpointName": "Images"})["FailureReason"] == reason
    assert ("KeyError: 'm'" in caplog.text) is (reason == UNFORESEEN)
    fleets.failure = None
    create(hosting)
    in_service(hosting)
    fleets.failure = error
    update(hosting)
    assert in_service(hosting)["FailureReason"] == reason
    assert answers(hosting) == "one"


def test_a_failed_endpoint_takes_no_update(hosting: Hosting, fleets: Fleets) -> None:
    fleets.fail("out of memory")
    create(hosting)
    eventually(lambda: status(hosting) == "Failed")
    with pytest.raises(ApiError) as refused:
        update(hosting)
    message = f'Cannot update failed endpoint "{ARN}:endpoint/text": delete it and create it anew.'
    assert refusal(refused) == message
    with pytest.raises(ApiError, match="Cannot update failed endpoint"):
        set_by_hand(hosting, DesiredInstanceCount=4)
    assert status(hosting) == "Failed"


# Deletion


def test_a_configuration_and_a_model_in_use_are_deleted_and_the_endpoint_serves_on(
    hosting: Hosting, fleets: Fleets
) -> None:
    create(hosting)
    in_service(hosting)
    hosting.delete_endpoint_config({"EndpointConfigName": "one"})
    hosting.delete_model({"ModelName": "m"})
    assert in_service(hosting)["EndpointConfigName"] == "one"
    assert answers(hosting) == "one"
    delete(hosting)


def test_an_endpoint_whose_configuration_is_gone_takes_no_update(hosting: Hosting) -> None:
    create(hosting)
    in_service(hosting)
    hosting.delete_endpoint_config({"EndpointConfigName": "one"})
    with pytest.raises(ApiError) as refused:
        update(hosting)
    assert refusal(refused) == (
        f'Could not find endpoint configuration "{ARN}:endpoint-config/one".'
    )
    assert status(hosting) == "InService"


@pytest.mark.parametrize("name", ["one", "two"])
def test_a_configuration_that_an_update_needs_is_not_deleted_but_a_model_is(
    hosting: Hosting, fleets: Fleets, name: str
) -> None:
    create(hosting)
    in_service(hosting)
    fleets.ready.clear()
    update(hosting)
    with pytest.raises(ApiError, match="which is Updating, needs it"):
        hosting.delete_endpoint_config({"EndpointConfigName": name})
    hosting.delete_model({"ModelName": "m"})
    fleets.ready.set()
    assert in_service(hosting)["EndpointConfigName"] == "two"
    hosting.describe_endpoint_config({"EndpointConfigName": name})


# What takes no time here


def test_an_update_that_fails_at_once_is_seen_as_an_update(
    hosting: Hosting, fleets: Fleets, clock: FakeClock
) -> None:
    create(hosting)
    in_service(hosting)
    clock.filled.clear()
    fleets.fail("Failed to download model data")
    update(hosting)
    eventually(lambda: clock.waiting)
    described = hosting.describe_endpoint(TEXT)
    assert (described["EndpointStatus"], described["EndpointConfigName"]) == ("Updating", "one")
    assert "FailureReason" not in described
    assert fleets.made[1].events[-1] == "stopped"
    clock.filled.set()
    assert in_service(hosting)["FailureReason"] == "Failed to download model data"


@pytest.mark.parametrize(
    ("new", "refused"),
    [
        ({"InstanceType": "ml.g5.2xlarge"}, True),
        ({"VariantName": "other"}, True),
        ({"InitialInstanceCount": 4, "InitialVariantWeight": 0.5, "ModelName": "n"}, False),
    ],
)
def test_a_scaled_variant_keeps_its_instances(
    hosting: Hosting, scaled: set[str], new: dict[str, Any], refused: bool
) -> None:
    hosting.create_model(model("n"))
    hosting.create_endpoint_config(config("three", **new))
    create(hosting)
    in_service(hosting)
    scaled.add("only")
    if refused:
        with pytest.raises(ApiError, match=r"^Variant only is a scalable target") as refusal_:
            update(hosting, "three")
        assert "DeregisterScalableTarget" in refusal(refusal_)
        assert status(hosting) == "InService"
        scaled.clear()
    update(hosting, "three")
    assert in_service(hosting)["EndpointConfigName"] == "three"


def test_a_deleted_endpoint_is_no_target_of_scaling(
    hosting: Hosting, fleets: Fleets, scaled: set[str]
) -> None:
    fleets.ready.clear()
    create(hosting)
    scaled.add("only")
    with pytest.raises(ApiError, match="Cannot update in-progress endpoint"):
        hosting.delete_endpoint(TEXT)
    assert scaled
    fleets.ready.set()
    in_service(hosting)
    delete(hosting)
    assert not scaled


def test_a_deleted_endpoint_is_deleting_until_its_calls_are_answered(
    hosting: Hosting, fleets: Fleets
) -> None:
    create(hosting)
    in_service(hosting)
    fleets.quiet.clear()
    hosting.delete_endpoint(TEXT)
    assert status(hosting) == "Deleting"
    assert not serves(hosting)
    with pytest.raises(ApiError, match="Cannot create already existing endpoint"):
        create(hosting)
    with pytest.raises(ApiError, match="Cannot update in-progress endpoint"):
        hosting.delete_endpoint(TEXT)
    eventually(lambda: fleets.started[0].events == ["draining"])
    fleets.quiet.set()
    eventually(lambda: hosting.list_endpoints({})["Endpoints"] == [])
    assert fleets.started[0].events == ["draining", "stopped"]
    with pytest.raises(ApiError, match="Could not find endpoint"):
        hosting.describe_endpoint(TEXT)


@pytest.mark.parametrize("what", ["deleted", "updated"])
def test_stop_ends_instances_that_finish_their_calls(
    hosting: Hosting, fleets: Fleets, what: str
) -> None:
    create(hosting)
    in_service(hosting)
    fleets.quiet.clear()
    hosting.delete_endpoint(TEXT) if what == "deleted" else update(hosting)
    eventually(lambda: fleets.started[0].events == ["draining"])
    hosting.stop()
    assert fleets.started[0].events == ["draining", "stopped"]


def test_stop_ends_instances_that_still_start(hosting: Hosting, fleets: Fleets) -> None:
    create(hosting)
    in_service(hosting)
    fleets.ready.clear()
    update(hosting)
    create(hosting, "Images")
    hosting.stop()
    assert [fleet.events for fleet in fleets.made] == [["stopped"]] * 3
