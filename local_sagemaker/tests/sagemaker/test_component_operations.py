"""Inference components: lifecycle and refused requests."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from local_sagemaker.errors import ApiError
from local_sagemaker.sagemaker.component_operations import HostingOperations
from local_sagemaker.tests.sagemaker.conftest import VARIANT, FakeClock, Fleets, NewHosting
from local_sagemaker.tests.sagemaker.policies import auto_rollback, rolling, size
from local_sagemaker.tests.support.waiting import eventually

ROLE = "arn:aws:iam::000000000000:role/known"
TIMES = {"InferenceComponentName": "times"}
SPECIFICATION = {
    "ModelName": "m",
    "ComputeResourceRequirements": {"MinMemoryRequiredInMb": 1024},
}
COPY = {"CopyCount": 1}
REQUEST: dict[str, Any] = {
    **TIMES,
    "EndpointName": "Empty",
    "VariantName": "only",
    "Specification": SPECIFICATION,
    "RuntimeConfig": COPY,
}


def create_components_endpoint(hosting: HostingOperations, name: str, **variant: Any) -> None:
    """Create an endpoint for inference components, and wait until it is in service."""
    create_config(hosting, f"{name}-config", **variant)
    hosting.create_endpoint({"EndpointName": name, "EndpointConfigName": f"{name}-config"})
    eventually(lambda: endpoint(hosting, name)["EndpointStatus"] == "InService")


def create_config(hosting: HostingOperations, name: str, **variant: Any) -> None:
    hosting.create_endpoint_config(
        {
            "EndpointConfigName": name,
            "ExecutionRoleArn": ROLE,
            "ProductionVariants": [{**VARIANT, **variant}],
        }
    )


def endpoint(hosting: HostingOperations, name: str = "Empty") -> dict[str, Any]:
    return hosting.describe_endpoint({"EndpointName": name})


def describe_component(hosting: HostingOperations) -> dict[str, Any]:
    return hosting.describe_inference_component(TIMES)


def wait_for_component(hosting: HostingOperations, status: str = "InService") -> dict[str, Any]:
    """Wait until the component has a status, and return its description."""
    eventually(lambda: describe_component(hosting)["InferenceComponentStatus"] == status)
    return describe_component(hosting)


@pytest.fixture
def host(hosting: HostingOperations) -> HostingOperations:
    """SageMaker's hosting with the endpoint `Empty` for inference components."""
    create_components_endpoint(hosting, "Empty")
    return hosting


@pytest.fixture
def serving(host: HostingOperations) -> HostingOperations:
    """SageMaker's hosting with the component `times` on `Empty`, which has one copy."""
    host.create_inference_component(REQUEST)
    wait_for_component(host)
    return host


def error_message(call: Callable[..., Any], request: dict[str, Any]) -> str:
    with pytest.raises(ApiError) as exc_info:
        call(request)
    assert exc_info.value.code == "ValidationException"
    return exc_info.value.message


def test_failed_copies_fail_the_component(host: HostingOperations, fleets: Fleets) -> None:
    fleets.fail("there is no room")
    host.create_inference_component(REQUEST)
    assert wait_for_component(host, "Failed")["FailureReason"] == "there is no room"
    for update, change in (
        (host.update_inference_component, {"Specification": SPECIFICATION}),
        (host.update_inference_component_runtime_config, {"DesiredRuntimeConfig": COPY}),
    ):
        assert error_message(update, {**TIMES, **change}).endswith("in state CREATE_FAILED")
    host.delete_inference_component(TIMES)
    eventually(lambda: not host.components)


def test_updating_endpoint_refuses_components(hosting: HostingOperations, fleets: Fleets) -> None:
    create_components_endpoint(hosting, "Empty")
    hosting.endpoints_by_name["Empty"].set_members(EndpointStatus="Updating")
    refused = error_message(hosting.create_inference_component, REQUEST)
    assert refused.startswith('Cannot update in-progress endpoint "arn:')


def update(hosting: HostingOperations, deployment: dict[str, Any], **members: Any) -> None:
    hosting.update_inference_component({**TIMES, "DeploymentConfig": deployment, **members})


def test_rolling_update_replaces_batches_of_copies(
    serving: HostingOperations, fleets: Fleets, clock: FakeClock
) -> None:
    policy = rolling(size(2, "COPY_COUNT"), wait=60)
    update(serving, policy, Specification=SPECIFICATION, RuntimeConfig={"CopyCount": 4})
    rolled = wait_for_component(serving)
    assert rolled["RuntimeConfig"] == {"DesiredCopyCount": 4, "CurrentCopyCount": 4}
    assert rolled["LastDeploymentConfig"] == policy
    # The new fleet starts with a batch of 2 copies; after each of the 2 batches there is a wait.
    assert fleets.all[-1].events == ["scaling to 4"]
    assert clock.seconds == 2 * 60


def test_alarm_rolls_an_update_back(
    serving: HostingOperations, alarms: dict[str, str], clock: FakeClock
) -> None:
    alarms["errors"] = "OK"
    clock.on_sleep = lambda _: alarms.update(errors="ALARM")
    changed = {**SPECIFICATION, "StartupParameters": {}}
    deployment = {**rolling(size(50), wait=60), **auto_rollback("errors")}
    update(serving, deployment, Specification=changed)
    assert wait_for_component(serving)["Specification"] == SPECIFICATION


def test_update_without_copies_changes_the_specification(
    serving: HostingOperations, fleets: Fleets
) -> None:
    serving.update_inference_component({**TIMES, "RuntimeConfig": {"CopyCount": 0}})
    wait_for_component(serving)
    changed = {**SPECIFICATION, "ComputeResourceRequirements": {"MinMemoryRequiredInMb": 128}}
    update(serving, rolling(size(1, "COPY_COUNT"), wait=0), Specification=changed)
    assert wait_for_component(serving)["Specification"] == changed
    assert fleets.all[-1].counts == {"times": 0}


def test_deletion_is_refused_during_an_operation(
    host: HostingOperations, fleets: Fleets, clock: FakeClock
) -> None:
    def state(call: Callable[..., Any], request: dict[str, Any]) -> str:
        return error_message(call, request).rpartition(" ")[2]

    fleets.ready.clear()
    host.create_inference_component(REQUEST)
    arn = describe_component(host)["InferenceComponentArn"]
    assert error_message(host.delete_inference_component, TIMES) == (
        f'Cannot delete inference component "{arn}" while it is in state CREATE_IN_PROGRESS'
    )
    fleets.ready.set()
    wait_for_component(host)
    clock.elapsed.clear()
    scaled = {**TIMES, "DesiredRuntimeConfig": {"CopyCount": 2}}
    host.update_inference_component_runtime_config(scaled)
    assert state(host.delete_inference_component, TIMES) == "UPDATE_RC_IN_PROGRESS"
    assert state(host.update_inference_component_runtime_config, scaled) == "UPDATE_RC_IN_PROGRESS"
    clock.elapsed.set()
    wait_for_component(host)
    fleets.idle.clear()
    host.delete_inference_component(TIMES)
    assert state(host.delete_inference_component, TIMES) == "DELETE_IN_PROGRESS"
    fleets.idle.set()
    eventually(lambda: not host.components)
    assert "Could not find inference component" in error_message(
        host.describe_inference_component, TIMES
    )


def test_endpoint_with_a_component_is_not_deleted(serving: HostingOperations) -> None:
    """Source of the message: gruntwork-io/cloud-nuke#1142."""
    empty = {"EndpointName": "Empty"}
    assert error_message(serving.delete_endpoint, empty) == (
        "Cannot delete endpoint with inference component associated. Please delete inference "
        "component and try it again."
    )
    assert endpoint(serving)["EndpointStatus"] == "InService"
    serving.delete_inference_component(TIMES)
    eventually(lambda: not serving.components)
    serving.delete_endpoint(empty)
    eventually(lambda: not serving.endpoints_by_name)


def test_list_filters_by_endpoint_and_status(serving: HostingOperations) -> None:
    def names(**request: str) -> list[str]:
        listed = serving.list_inference_components(request)["InferenceComponents"]
        return [summary["InferenceComponentName"] for summary in listed]

    assert names() == names(EndpointNameEquals="Empty", StatusEquals="InService") == ["times"]
    assert names(EndpointNameEquals="Other") == names(VariantNameEquals="other") == []


def test_endpoint_update_keeps_the_copies(serving: HostingOperations, fleets: Fleets) -> None:
    scaling = {"Status": "ENABLED", "MinInstanceCount": 0, "MaxInstanceCount": 3}
    create_config(serving, "next", ManagedInstanceScaling=scaling)
    fleet_count = len(fleets.all)
    serving.update_endpoint({"EndpointName": "Empty", "EndpointConfigName": "next"})
    eventually(lambda: endpoint(serving)["EndpointConfigName"] == "next")
    (variant,) = endpoint(serving)["ProductionVariants"]
    assert variant["ManagedInstanceScaling"] == scaling
    assert len(fleets.all) == fleet_count
    assert describe_component(serving)["RuntimeConfig"]["CurrentCopyCount"] == 1


# Restart


@pytest.fixture
def restarted(hosting: HostingOperations, new_hosting: NewHosting) -> Any:
    """A function that restores the records of `hosting` in a new one."""

    def restart() -> HostingOperations:
        other = new_hosting()
        other.restore(json.loads(json.dumps(hosting.records())))
        return other

    return restart


def test_restored_endpoints_and_components_start(
    host: HostingOperations, fleets: Fleets, restarted: Callable[[], HostingOperations]
) -> None:
    host.create_inference_component({**REQUEST, "RuntimeConfig": {"CopyCount": 2}})
    before = wait_for_component(host)
    host.create_endpoint({"EndpointName": "Text", "EndpointConfigName": "one"})
    eventually(lambda: endpoint(host, "Text")["EndpointStatus"] == "InService")
    host.delete_endpoint_config({"EndpointConfigName": "one"})
    arn = endpoint(host)["EndpointArn"]
    tags = [{"Key": "team", "Value": "search"}]
    host.tags.add_tags({"ResourceArn": arn, "Tags": tags})
    fleets.ready.clear()
    again = restarted()
    assert endpoint(again, "Text")["EndpointStatus"] == "Creating"
    assert describe_component(again)["InferenceComponentStatus"] == "Creating"
    fleets.ready.set()
    after = wait_for_component(again)
    assert endpoint(again)["EndpointStatus"] == "InService"
    eventually(lambda: endpoint(again, "Text")["EndpointStatus"] == "InService")
    ignored = {"LastModifiedTime": 0, "RuntimeConfig": 0}
    assert {**after, **ignored} == {**before, **ignored}
    assert after["RuntimeConfig"]["DesiredCopyCount"] == 2
    assert endpoint(again, "Text")["EndpointConfigName"] == "one"
    assert again.tags.list_tags({"ResourceArn": arn}) == {"Tags": tags}
    assert [each["ModelName"] for each in again.list_models({})["Models"]] == ["m"]
    configs = again.list_endpoint_configs({})["EndpointConfigs"]
    assert {each["EndpointConfigName"] for each in configs} == {"two", "Empty-config"}


def test_restored_endpoint_of_an_update_has_the_configuration_in_service(
    hosting: HostingOperations, fleets: Fleets, restarted: Callable[[], HostingOperations]
) -> None:
    hosting.create_endpoint({"EndpointName": "Text", "EndpointConfigName": "one"})
    eventually(lambda: endpoint(hosting, "Text")["EndpointStatus"] == "InService")
    fleets.ready.clear()
    hosting.update_endpoint({"EndpointName": "Text", "EndpointConfigName": "two"})
    again = restarted()
    fleets.ready.set()
    eventually(lambda: endpoint(again, "Text")["EndpointStatus"] == "InService")
    assert endpoint(again, "Text")["EndpointConfigName"] == "one"


def test_restored_endpoint_that_cannot_start_fails_with_its_components(
    host: HostingOperations, fleets: Fleets, restarted: Callable[[], HostingOperations]
) -> None:
    host.create_inference_component(REQUEST)
    wait_for_component(host)
    fleets.fail("the bucket is missing")
    again = restarted()
    component = wait_for_component(again, "Failed")
    assert component["FailureReason"] == "the bucket is missing"
    assert endpoint(again)["EndpointStatus"] == "Failed"
