import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from local_aws.errors import ApiError, LocalAwsError
from local_aws.sagemaker.hosting_api import Hosting
from tests.unit.local_aws.conftest import eventually
from tests.unit.local_aws.sagemaker.conftest import (
    CONTAINER,
    VARIANT,
    FakeFleet,
    Fleets,
    config,
    model,
)

TEXT = {"EndpointName": "Text"}
ARN = "arn:aws:sagemaker:us-east-1:000000000000"


def create(hosting: Hosting, name: str = "Text", config: str = "one") -> None:
    hosting.create_endpoint({"EndpointName": name, "EndpointConfigName": config})


def update(hosting: Hosting, config: str = "two") -> None:
    hosting.update_endpoint({**TEXT, "EndpointConfigName": config})


def delete(hosting: Hosting) -> None:
    """Delete the endpoint, and return when it is gone."""
    hosting.delete_endpoint(TEXT)
    eventually(lambda: hosting.list_endpoints({})["Endpoints"] == [])


def status(hosting: Hosting, name: str = "Text") -> str:
    return str(hosting.describe_endpoint({"EndpointName": name})["EndpointStatus"])


def in_service(hosting: Hosting, name: str = "Text") -> dict[str, Any]:
    eventually(lambda: status(hosting, name) == "InService")
    return hosting.describe_endpoint({"EndpointName": name})


def answers(hosting: Hosting) -> str:
    """Return the configuration whose instances answer."""
    with hosting.serving("Text") as (fleet, weights):
        return fleet.invoke(weights, body=b"", headers={})[1].body.decode()


def refuses_to_serve(hosting: Hosting) -> ApiError:
    with pytest.raises(ApiError) as refused, hosting.serving("Text"):
        pass
    return refused.value


def refusal(error: pytest.ExceptionInfo[ApiError]) -> str:
    assert error.value.code == "ValidationException"
    return error.value.message


# Models and configurations


def test_what_is_created_is_described_as_it_was_asked_for(hosting: Hosting) -> None:
    described = hosting.describe_model({"ModelName": "m"})
    assert described["PrimaryContainer"] == CONTAINER
    assert described["ModelArn"] == f"{ARN}:model/m"
    described = hosting.describe_endpoint_config({"EndpointConfigName": "one"})
    assert described["ProductionVariants"] == [{**VARIANT, "ModelName": "m"}]
    assert described["EndpointConfigArn"] == f"{ARN}:endpoint-config/one"


def test_arns_are_in_lower_case(hosting: Hosting) -> None:
    answer = hosting.create_model(model("Mini-LM"))
    assert answer == {"ModelArn": f"{ARN}:model/mini-lm"}


@pytest.mark.parametrize("written", ["as it is", "in capitals"])
def test_what_exists_is_not_created_twice(hosting: Hosting, written: str) -> None:
    create(hosting)

    def name(it: str) -> str:
        return it.upper() if written == "in capitals" else it

    with pytest.raises(ApiError) as a_model:
        hosting.create_model(model(name("m")))
    with pytest.raises(ApiError) as configuration:
        hosting.create_endpoint_config(config(name("one")))
    with pytest.raises(ApiError) as endpoint:
        create(hosting, name("Text"), config="two")
    assert refusal(a_model) == f'Cannot create already existing model "{ARN}:model/m".'
    assert refusal(configuration) == (
        f'Cannot create already existing endpoint configuration "{ARN}:endpoint-config/one".'
    )
    assert refusal(endpoint) == f'Cannot create already existing endpoint "{ARN}:endpoint/text".'


def test_a_name_is_free_again_after_its_deletion(hosting: Hosting, fleets: Fleets) -> None:
    hosting.delete_model({"ModelName": "m"})
    hosting.create_model(model("m"))
    hosting.delete_endpoint_config({"EndpointConfigName": "one"})
    hosting.create_endpoint_config(config("one"))
    for _ in range(2):
        create(hosting)
        in_service(hosting)
        delete(hosting)
    assert len(fleets.started) == 2


@pytest.mark.parametrize(
    ("operation", "request_", "kind"),
    [
        ("describe_model", {"ModelName": "none"}, "model"),
        ("delete_model", {"ModelName": "none"}, "model"),
        ("create_endpoint_config", config("three", model="none"), "model"),
        (
            "describe_endpoint_config",
            {"EndpointConfigName": "none"},
            "endpoint configuration",
        ),
        ("delete_endpoint_config", {"EndpointConfigName": "none"}, "endpoint configuration"),
        (
            "create_endpoint",
            {"EndpointName": "e", "EndpointConfigName": "none"},
            "endpoint configuration",
        ),
        ("describe_endpoint", {"EndpointName": "none"}, "endpoint"),
        ("delete_endpoint", {"EndpointName": "none"}, "endpoint"),
        ("update_endpoint", {"EndpointName": "none", "EndpointConfigName": "one"}, "endpoint"),
    ],
)
def test_what_does_not_exist_is_named(
    hosting: Hosting, operation: str, request_: dict[str, Any], kind: str
) -> None:
    with pytest.raises(ApiError) as refused:
        getattr(hosting, operation)(request_)
    path = kind.replace(" configuration", "-config")
    assert refusal(refused) == f'Could not find {kind} "{ARN}:{path}/none".'


def test_what_was_refused_is_not_there(hosting: Hosting) -> None:
    for refused in (
        lambda: hosting.create_endpoint_config(config("three", model="none")),
        lambda: create(hosting, "other", "none"),
    ):
        with pytest.raises(ApiError):
            refused()
    assert {
        it["EndpointConfigName"] for it in hosting.list_endpoint_configs({})["EndpointConfigs"]
    } == {"one", "two"}
    assert hosting.list_endpoints({})["Endpoints"] == []


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
    assert models["m"]["PrimaryContainer"] == CONTAINER


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


def variant_of(hosting: Hosting, *names: str) -> tuple[Any, ...]:
    (variant,) = hosting.describe_endpoint(TEXT)["ProductionVariants"]
    return tuple(variant[name] for name in names)


def set_by_hand(hosting: Hosting, **wanted: Any) -> None:
    desired = [{"VariantName": "only", **wanted}]
    hosting.update_weights_and_capacities({**TEXT, "DesiredWeightsAndCapacities": desired})


def test_counts_and_weights_that_are_set_are_reached_by_an_update(hosting: Hosting) -> None:
    create(hosting)
    in_service(hosting)
    with hosting._lock:  # the update cannot end
        set_by_hand(hosting, DesiredInstanceCount=4)
        assert status(hosting) == "Updating"
        assert variant_of(hosting, "CurrentInstanceCount", "DesiredInstanceCount") == (1, 4)
        with pytest.raises(ApiError, match="Cannot update in-progress endpoint"):
            set_by_hand(hosting, DesiredWeight=0.25)
    in_service(hosting)
    set_by_hand(hosting, DesiredWeight=0.25)
    in_service(hosting)
    assert variant_of(hosting, "CurrentInstanceCount", "DesiredInstanceCount") == (4, 4)
    assert variant_of(hosting, "CurrentWeight", "DesiredWeight") == (0.25, 0.25)
    with hosting.serving("Text") as (_, weights):
        assert weights == {"only": 0.25}


def test_the_instances_are_really_scaled(hosting: Hosting, fleets: Fleets) -> None:
    create(hosting)
    in_service(hosting)
    set_by_hand(hosting, DesiredInstanceCount=4)
    in_service(hosting)
    set_by_hand(hosting, DesiredInstanceCount=4, DesiredWeight=2.0)
    in_service(hosting)
    assert fleets.started[0].events == ["scaling to 4"]
    assert fleets.started[0].counts == {"only": 4}


def test_a_variant_says_to_how_many_instances_it_scales(hosting: Hosting) -> None:
    create(hosting)
    in_service(hosting)
    with hosting._lock:  # the update cannot end
        set_by_hand(hosting, DesiredInstanceCount=4)
        ((told,),) = variant_of(hosting, "VariantStatus")
    assert (told["Status"], told["StatusMessage"]) == (
        "Updating",
        "Scaling desired instance count to 4.",
    )
    assert "VariantStatus" not in in_service(hosting)["ProductionVariants"][0]


def test_instances_that_cannot_be_scaled_are_as_many_as_before(
    hosting: Hosting, fleets: Fleets, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(hosting)
    in_service(hosting)
    seen: list[tuple[Any, ...]] = []
    scale = FakeFleet.scale

    def watched(fleet: FakeFleet, counts: Any) -> None:
        now = variant_of(hosting, "CurrentInstanceCount", "DesiredInstanceCount", "DesiredWeight")
        seen.append((status(hosting), *now))
        scale(fleet, counts)

    monkeypatch.setattr(FakeFleet, "scale", watched)
    fleets.unscalable.append(LocalAwsError("no room"))
    set_by_hand(hosting, DesiredInstanceCount=4, DesiredWeight=0.5)
    assert in_service(hosting)["FailureReason"] == "no room"
    assert seen == [("Updating", 1, 4, 0.5), ("RollingBack", 1, 1, 1.0)]
    assert fleets.started[0].counts == {"only": 1}
    assert variant_of(hosting, "CurrentInstanceCount", "CurrentWeight") == (1, 1.0)
    set_by_hand(hosting, DesiredInstanceCount=2)
    assert "FailureReason" not in in_service(hosting)


def test_an_endpoint_that_cannot_be_scaled_back_has_failed(
    hosting: Hosting, fleets: Fleets
) -> None:
    create(hosting)
    in_service(hosting)
    fleets.unscalable.extend([LocalAwsError("no room"), LocalAwsError("no way")])
    set_by_hand(hosting, DesiredInstanceCount=4)
    eventually(lambda: status(hosting) == "Failed")
    assert hosting.describe_endpoint(TEXT)["FailureReason"] == "no room; no way"
    assert refuses_to_serve(hosting)
    delete(hosting)
    assert fleets.started[0].events[-1] == "stopped"


def test_everything_may_stop_while_instances_are_scaled(
    hosting: Hosting, fleets: Fleets, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(hosting)
    in_service(hosting)
    stopped = threading.Event()

    def scale(*_: Any) -> None:
        hosting.stop()
        stopped.set()
        raise LocalAwsError("stopped")

    monkeypatch.setattr(FakeFleet, "scale", scale)
    endpoint = hosting._endpoints["Text"]
    set_by_hand(hosting, DesiredInstanceCount=4)
    stopped.wait()
    assert endpoint.status == "Updating"


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


def test_a_model_has_a_role_that_sagemaker_may_assume(hosting: Hosting) -> None:
    role = "arn:aws:iam::000000000000:role"
    hosting.create_model({**model("n"), "ExecutionRoleArn": f"{role}/known"})
    with pytest.raises(ApiError) as refused:
        hosting.create_model({**model("o"), "ExecutionRoleArn": f"{role}/none"})
    assert refusal(refused) == (
        "Could not access model data at s3://models/m.tar.gz. Please ensure that the role "
        f'"{role}/none" exists and that its trust relationship policy allows the action '
        '"sts:AssumeRole" for the service principal "sagemaker.amazonaws.com".'
    )


def test_an_unknown_variant_has_no_count_to_set(hosting: Hosting) -> None:
    create(hosting)
    in_service(hosting)
    unknown = [
        {"VariantName": "only", "DesiredInstanceCount": 4},
        {"VariantName": "other", "DesiredInstanceCount": 4},
    ]
    with pytest.raises(ApiError) as refused:
        hosting.update_weights_and_capacities({**TEXT, "DesiredWeightsAndCapacities": unknown})
    assert refusal(refused) == "Could not find variant other."
    assert variant_of(hosting, "CurrentInstanceCount") == (1,)


def test_what_is_not_emulated_is_not_passed_over(hosting: Hosting) -> None:
    create(hosting)
    in_service(hosting)
    with pytest.raises(ApiError, match="no serverless variants"):
        set_by_hand(hosting, ServerlessUpdateConfig={"MaxConcurrency": 1})
    assert status(hosting) == "InService"


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({}, (3, 1.0)),
        ({"RetainAllVariantProperties": False}, (3, 1.0)),
        ({"RetainAllVariantProperties": True}, (4, 0.25)),
        (
            {
                "RetainAllVariantProperties": True,
                "ExcludeRetainedVariantProperties": [
                    {"VariantPropertyType": "DesiredInstanceCount"}
                ],
            },
            (3, 0.25),
        ),
    ],
)
def test_an_update_keeps_the_counts_and_weights_that_it_is_told_to_keep(
    hosting: Hosting, request_: dict[str, Any], expected: tuple[float, ...]
) -> None:
    hosting.create_endpoint_config(config("three", InitialInstanceCount=3))
    create(hosting)
    in_service(hosting)
    set_by_hand(hosting, DesiredInstanceCount=4, DesiredWeight=0.25)
    in_service(hosting)
    hosting.update_endpoint({**TEXT, "EndpointConfigName": "three", **request_})
    in_service(hosting)
    assert variant_of(hosting, "CurrentInstanceCount", "CurrentWeight") == expected
    assert variant_of(hosting, "DesiredInstanceCount", "DesiredWeight") == expected


def test_a_variant_that_is_new_has_nothing_to_keep(hosting: Hosting) -> None:
    hosting.create_endpoint_config(config("three", VariantName="new", InitialInstanceCount=3))
    create(hosting)
    in_service(hosting)
    request = {**TEXT, "EndpointConfigName": "three", "RetainAllVariantProperties": True}
    hosting.update_endpoint(request)
    in_service(hosting)
    assert variant_of(hosting, "VariantName", "CurrentInstanceCount") == ("new", 3)


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
    with hosting.serving("Text") as (fleet, _):
        assert fleet is old  # type: ignore[comparison-overlap]
        assert old.busy == 1
        update(hosting)
        in_service(hosting)
    assert old.busy == 0


def test_while_an_invocation_is_counted_in_nothing_of_the_endpoint_changes(
    hosting: Hosting, fleets: Fleets, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(hosting)
    in_service(hosting)
    free = []

    @contextmanager
    def counted() -> Iterator[None]:
        other = threading.Thread(target=lambda: free.append(hosting._lock.acquire(blocking=False)))
        other.start()
        other.join()
        yield

    monkeypatch.setattr(fleets.started[0], "counted", counted)
    assert answers(hosting) == "one"
    assert free == [False]


UNFORESEEN = "An internal error of the local AWS; its log says which."


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (KeyError("m"), UNFORESEEN),
        (OSError(8, "Exec format error"), "[Errno 8] Exec format error"),
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


def test_what_an_endpoint_is_updated_to_can_be_deleted_meanwhile(
    hosting: Hosting, fleets: Fleets
) -> None:
    create(hosting)
    in_service(hosting)
    fleets.ready.clear()
    update(hosting)
    hosting.delete_endpoint_config({"EndpointConfigName": "two"})
    hosting.delete_model({"ModelName": "m"})
    fleets.ready.set()
    assert in_service(hosting)["EndpointConfigName"] == "two"


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


# Tags


def test_tags_are_added_overwritten_listed_and_deleted(hosting: Hosting) -> None:
    hosting.create_model({**model("n"), "Tags": [{"Key": "team", "Value": "search"}]})
    assert "Tags" not in hosting.describe_model({"ModelName": "n"})
    resource = {"ResourceArn": f"{ARN}:model/n"}
    tags = [{"Key": "team", "Value": "ads"}, {"Key": "stage", "Value": "prod"}]
    assert hosting.add_tags({**resource, "Tags": tags}) == {"Tags": tags}
    assert hosting.list_tags(resource) == {"Tags": tags}
    hosting.delete_tags({**resource, "TagKeys": ["team", "none"]})
    assert hosting.list_tags(resource) == {"Tags": tags[1:]}


def test_every_kind_of_resource_has_tags_while_it_is_there(hosting: Hosting) -> None:
    create(hosting)
    in_service(hosting)
    resources = [{"ResourceArn": f"{ARN}:{it}"} for it in ("model/m", "endpoint-config/one")]
    resources.append({"ResourceArn": f"{ARN}:endpoint/text"})
    for resource in resources:
        assert hosting.list_tags(resource) == {"Tags": []}
    delete(hosting)
    hosting.delete_endpoint_config({"EndpointConfigName": "one"})
    hosting.delete_model({"ModelName": "m"})
    for resource in resources:
        with pytest.raises(ApiError) as refused:
            hosting.list_tags(resource)
        assert refusal(refused).startswith(f'Could not find "{resource["ResourceArn"]}"')


def test_tags_are_unique_and_at_most_50(hosting: Hosting) -> None:
    twice = [{"Key": "team", "Value": "a"}, {"Key": "team", "Value": "b"}]
    with pytest.raises(ApiError, match="Tag keys must be unique"):
        hosting.create_model({**model("n"), "Tags": twice})
    with pytest.raises(ApiError, match="Could not find"):
        hosting.describe_model({"ModelName": "n"})
    resource = {"ResourceArn": f"{ARN}:model/m"}
    fifty = [{"Key": str(number), "Value": ""} for number in range(50)]
    hosting.add_tags({**resource, "Tags": fifty})
    hosting.add_tags({**resource, "Tags": fifty[:1]})
    with pytest.raises(ApiError, match="at most 50 tags"):
        hosting.add_tags({**resource, "Tags": twice[:1]})
    assert hosting.list_tags(resource) == {"Tags": fifty}
    with pytest.raises(ApiError, match="NextToken"):
        hosting.list_tags({**resource, "NextToken": "x"})
