import threading
from typing import Any

import pytest

from local_sagemaker.errors import ApiError
from local_sagemaker.sagemaker.hosting_api import Hosting
from local_sagemaker.tests.conftest import eventually
from local_sagemaker.tests.sagemaker.conftest import (
    CONTAINER,
    VARIANT,
    FakeClock,
    FakeFleet,
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
    refuses_to_serve,
    set_by_hand,
    status,
    update,
    variant_of,
)

# Creation


def test_an_endpoint_is_creating_and_then_in_service(hosting: Hosting, fleets: Fleets) -> None:
    fleets.ready.clear()
    create(hosting)
    described = hosting.describe_endpoint(TEXT)
    assert described["EndpointStatus"] == "Creating"
    assert described["EndpointArn"] == f"{ARN}:endpoint/text"
    refused = refuses_to_serve(hosting)
    assert refused.code == "ValidationError"
    assert refused.message == "Endpoint Text of account 000000000000 not found."
    fleets.ready.set()
    assert in_service(hosting)["EndpointConfigName"] == "one"
    assert answers(hosting) == "one"


def test_the_instances_are_started_from_the_configuration_and_its_models(
    hosting: Hosting, fleets: Fleets
) -> None:
    create(hosting)
    in_service(hosting)
    ((host, endpoint, configuration, models, counts),) = fleets.asked
    assert (host, endpoint, counts) == (hosting._site.host, "Text", {"only": 1})
    assert configuration["ProductionVariants"] == [{**VARIANT, "ModelName": "m"}]
    assert models["m"]["PrimaryContainer"]["ModelDataUrl"] == CONTAINER["ModelDataUrl"]


def test_variants_are_described_with_their_counts_and_weights(hosting: Hosting) -> None:
    hosting.create_endpoint_config(
        config("three", InitialInstanceCount=2, InitialVariantWeight=0.5)
    )
    create(hosting, config="three")
    assert hosting.describe_endpoint(TEXT)["ProductionVariants"] == [
        {
            "VariantName": "only",
            "CurrentWeight": 0.5,
            "DesiredWeight": 0.5,
            "CurrentInstanceCount": 2,
            "DesiredInstanceCount": 2,
        }
    ]


def test_an_endpoint_whose_instances_do_not_start_has_failed_with_their_reason(
    hosting: Hosting, fleets: Fleets
) -> None:
    fleets.fail("The container did not pass the ping health check.")
    create(hosting)
    eventually(lambda: status(hosting) == "Failed")
    described = hosting.describe_endpoint(TEXT)
    assert described["FailureReason"] == "The container did not pass the ping health check."
    assert refuses_to_serve(hosting)
    delete(hosting)


# Update


def test_the_old_instances_answer_until_the_new_are_healthy(
    hosting: Hosting, fleets: Fleets
) -> None:
    create(hosting)
    before = in_service(hosting)
    fleets.ready.clear()
    update(hosting)
    eventually(lambda: len(fleets.asked) == 2)
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


def test_a_failed_update_is_updating_until_its_instances_have_ended(
    hosting: Hosting, fleets: Fleets, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(hosting)
    in_service(hosting)
    fleets.fail("out of memory")
    seen: list[str] = []
    monkeypatch.setattr(FakeFleet, "stop", lambda _: seen.append(status(hosting)))
    update(hosting)
    in_service(hosting)
    assert seen == ["Updating"]


def test_a_failed_update_leaves_the_endpoint_as_it_was_and_says_why(
    hosting: Hosting, fleets: Fleets
) -> None:
    create(hosting)
    in_service(hosting)
    fleets.fail("out of memory")
    update(hosting)
    described = in_service(hosting)
    assert described["EndpointConfigName"] == "one"
    assert described["FailureReason"] == "out of memory"
    assert answers(hosting) == "one"
    assert fleets.started[0].events == []


def test_a_good_update_after_a_failed_one_clears_the_reason(
    hosting: Hosting, fleets: Fleets
) -> None:
    create(hosting)
    in_service(hosting)
    fleets.fail("out of memory")
    update(hosting)
    in_service(hosting)
    fleets.failure = None
    update(hosting)
    described = in_service(hosting)
    assert described["EndpointConfigName"] == "two"
    assert "FailureReason" not in described


def test_an_update_may_change_the_variants(hosting: Hosting) -> None:
    hosting.create_endpoint_config(config("three", InitialInstanceCount=3))
    create(hosting)
    in_service(hosting)
    update(hosting, "three")
    (variant,) = in_service(hosting)["ProductionVariants"]
    assert variant["CurrentInstanceCount"] == 3


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
    asked = {**CAPTURED, **more}
    hosting.create_endpoint_config({**config("three"), "DataCaptureConfig": asked})
    create(hosting)
    assert "DataCaptureConfig" not in in_service(hosting)
    assert hosting.capture("Text") is None
    update(hosting, "three")
    assert in_service(hosting)["DataCaptureConfig"] == {
        "EnableCapture": enabled,
        "CaptureStatus": capture,
        "CurrentSamplingPercentage": 50,
        "DestinationS3Uri": "s3://captured/",
        "KmsKeyId": key,
    }
    assert hosting.capture("Text") == asked
    assert hosting.capture("none") is None


def test_nothing_is_captured_before_an_endpoint_serves(hosting: Hosting, fleets: Fleets) -> None:
    hosting.create_endpoint_config({**config("three"), "DataCaptureConfig": CAPTURED})
    fleets.ready.clear()
    create(hosting, config="three")
    described = hosting.describe_endpoint(TEXT)
    assert "DataCaptureConfig" not in described
    assert described["PendingDeploymentSummary"]["EndpointConfigName"] == "three"
    fleets.ready.set()
    assert "PendingDeploymentSummary" not in in_service(hosting)


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


def test_an_update_to_an_unknown_configuration_changes_nothing(hosting: Hosting) -> None:
    create(hosting)
    in_service(hosting)
    with pytest.raises(ApiError) as refused:
        update(hosting, "none")
    assert refusal(refused) == (
        f'Could not find endpoint configuration "{ARN}:endpoint-config/none".'
    )
    assert (status(hosting), answers(hosting)) == ("InService", "one")


def test_an_invocation_is_counted_before_an_update_can_take_its_instances(
    hosting: Hosting, fleets: Fleets
) -> None:
    create(hosting)
    in_service(hosting)
    old = fleets.started[0]
    fleet, instance = hosting.begin("Text")
    assert fleet is old  # type: ignore[comparison-overlap]
    assert old.busy == 1
    update(hosting)
    in_service(hosting)
    fleet.end(instance)
    assert old.busy == 0


def test_while_an_invocation_is_counted_in_nothing_of_the_endpoint_changes(
    hosting: Hosting, fleets: Fleets, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(hosting)
    in_service(hosting)
    free = []

    begin = fleets.started[0].begin

    def watched(*arguments: Any, **options: Any) -> Any:
        other = threading.Thread(target=lambda: free.append(hosting._lock.acquire(blocking=False)))
        other.start()
        other.join()
        return begin(*arguments, **options)

    monkeypatch.setattr(fleets.started[0], "begin", watched)
    assert answers(hosting) == "one"
    assert free == [False]


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


def test_a_configuration_that_a_creation_needs_is_not_deleted(
    hosting: Hosting, fleets: Fleets
) -> None:
    fleets.ready.clear()
    create(hosting)
    with pytest.raises(ApiError) as refused:
        hosting.delete_endpoint_config({"EndpointConfigName": "one"})
    assert refusal(refused) == (
        f'Cannot delete endpoint configuration "{ARN}:endpoint-config/one": '
        f'endpoint "{ARN}:endpoint/text", which is Creating, needs it.'
    )
    hosting.delete_endpoint_config({"EndpointConfigName": "two"})
    fleets.ready.set()
    in_service(hosting)
    hosting.delete_endpoint_config({"EndpointConfigName": "one"})


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


def test_a_configuration_that_is_scaled_is_not_deleted(hosting: Hosting, clock: FakeClock) -> None:
    create(hosting)
    in_service(hosting)
    clock.filled.clear()
    set_by_hand(hosting, DesiredInstanceCount=2)
    with pytest.raises(ApiError, match="which is Updating, needs it"):
        hosting.delete_endpoint_config({"EndpointConfigName": "one"})
    hosting.delete_endpoint_config({"EndpointConfigName": "two"})


# What takes no time here


def test_a_new_weight_is_seen_as_an_update(
    hosting: Hosting, fleets: Fleets, clock: FakeClock
) -> None:
    create(hosting)
    in_service(hosting)
    clock.filled.clear()
    set_by_hand(hosting, DesiredWeight=0.25)
    eventually(lambda: clock.waiting)
    assert status(hosting) == "Updating"
    assert variant_of(hosting, "CurrentWeight", "DesiredWeight") == (1.0, 0.25)
    clock.filled.set()
    in_service(hosting)
    assert variant_of(hosting, "CurrentWeight", "DesiredWeight") == (0.25, 0.25)
    assert fleets.started[0].events == []


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


@pytest.mark.parametrize("fails", [True, False])
def test_an_endpoint_is_seen_creating_however_soon_that_ends(
    hosting: Hosting, fleets: Fleets, clock: FakeClock, fails: bool
) -> None:
    clock.filled.clear()
    if fails:
        fleets.fail("Failed to download model data")
    create(hosting)
    eventually(lambda: clock.waiting)
    assert status(hosting) == "Creating"
    clock.filled.set()
    eventually(lambda: status(hosting) == ("Failed" if fails else "InService"))


def test_stop_waits_for_no_least_time(hosting: Hosting, clock: FakeClock) -> None:
    create(hosting)
    in_service(hosting)
    clock.filled.clear()
    update(hosting)
    eventually(lambda: clock.waiting)
    hosting.stop()
    eventually(lambda: not clock.waiting)


@pytest.mark.parametrize("operation", ["create", "update"])
def test_a_configuration_whose_model_is_gone_is_not_deployed(
    hosting: Hosting, operation: str
) -> None:
    create(hosting)
    in_service(hosting)
    hosting.delete_model({"ModelName": "m"})
    with pytest.raises(ApiError) as refused:
        create(hosting, "Images") if operation == "create" else update(hosting)
    assert refusal(refused) == f'Could not find model "{ARN}:model/m".'
    assert [it["EndpointName"] for it in hosting.list_endpoints({})["Endpoints"]] == ["Text"]


def test_the_configuration_that_serves_already_is_deployed_again(
    hosting: Hosting, fleets: Fleets
) -> None:
    create(hosting)
    in_service(hosting)
    update(hosting, "one")
    in_service(hosting)
    assert [it.events for it in fleets.started] == [["draining", "stopped"], []]


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
    assert refuses_to_serve(hosting)
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


def test_stop_ends_the_instances_of_every_endpoint(hosting: Hosting, fleets: Fleets) -> None:
    for name in ("Text", "Images"):
        create(hosting, name)
        in_service(hosting, name)
    hosting.stop()
    assert [fleet.events for fleet in fleets.started] == [["stopped"], ["stopped"]]
    assert refuses_to_serve(hosting)


def test_stop_leaves_instances_alone_that_ended_before(hosting: Hosting, fleets: Fleets) -> None:
    create(hosting)
    in_service(hosting)
    update(hosting)
    in_service(hosting)
    hosting.stop()
    assert [fleet.events for fleet in fleets.made] == [["draining", "stopped"], ["stopped"]]


def test_stop_ends_instances_that_still_start(hosting: Hosting, fleets: Fleets) -> None:
    create(hosting)
    in_service(hosting)
    fleets.ready.clear()
    update(hosting)
    create(hosting, "Images")
    hosting.stop()
    assert [fleet.events for fleet in fleets.made] == [["stopped"]] * 3


def test_endpoints_are_listed_while_others_are_created(hosting: Hosting) -> None:
    """Only under the lock do the endpoints keep still."""
    listing = threading.Thread(target=hosting.list_endpoints, args=({},))
    with hosting._lock:
        endpoints = hosting._endpoints
        hosting._endpoints = None  # type: ignore[assignment]
        listing.start()
        listing.join(0.05)
        assert listing.is_alive()
        hosting._endpoints = endpoints
    listing.join()


def test_what_serves_and_what_starts_is_known_by_its_endpoint(
    hosting: Hosting, fleets: Fleets
) -> None:
    assert hosting.fleets() == []
    create(hosting)
    in_service(hosting)
    fleets.ready.clear()
    update(hosting)
    found: list[Any] = hosting.fleets()
    assert found == [("Text", fleets.made[0]), ("Text", fleets.made[1])]
